from rows import Trace

BOUNDS = "SELECT step, is_host, from_ns, until_ns, begin_ns FROM step_bound ORDER BY ALL"


def test_on_the_host_by_launch_and_on_the_device_by_start(trace: Trace) -> None:
    for step, begin in ((1, 100), (2, 300)):
        trace.step(trace.rank(0), begin, begin + 100, f"step {step}")
        trace.launched(trace.rank(0), begin + 20, begin + 60, call_ns=begin)
    (first, second), (host_first, host_second) = (
        [row for row in trace.ask(BOUNDS) if row[1] is is_host] for is_host in (False, True)
    )
    assert (host_first[2:4], host_second[2:4]) == ((100, 200), (200, 400))
    assert (first[3], second[2:4]) == (160, (160, 360))
    assert first[2] == first[4] == second[4] == host_first[4]


def test_without_ranges_there_are_no_bounds_on_the_host(trace: Trace) -> None:
    trace.launch((0, 1), (10, 20))
    assert trace.ask(BOUNDS) == []
