from rows import Trace

ASKED = "SELECT start_ns, end_ns, before_ns FROM compute_interval ORDER BY device_key, start_ns"


def test_intervals_that_do_not_touch(trace: Trace) -> None:
    for start_ns, end_ns in ((0, 10), (5, 20), (6, 7), (20, 30), (40, 50), (45, 46)):
        trace.kernel(start_ns, end_ns)
    trace.kernel(30, 60, "ncclAllReduce", stream_id=20)
    trace.copy(32, 35)
    assert trace.ask(ASKED) == [(0, 30, 0), (40, 50, 30)]


def test_devices_by_themselves_and_none_without_communication(trace: Trace) -> None:
    for process in (1, 2, 3):
        trace.kernel(0, 10 * process, process=process)
        if process > 1:
            trace.kernel(0, 10, "ncclAllReduce", process=process)
    assert trace.ask(ASKED) == [(0, 20, 0), (0, 30, 0)]
