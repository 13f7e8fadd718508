from rows import Trace

CHECK = "SELECT launched_count, early_count, worst_early_ns, is_aligned FROM clock_check"


def test_a_kernel_starts_after_its_launch_call_has_begun(trace: Trace) -> None:
    trace.launch((0, 10), (5, 20))  # while it runs
    trace.launch((30, 40), (30, 50))  # at once
    assert trace.ask(CHECK) == [(2, 0, 0, True)]


def test_how_many_start_too_early_and_by_how_much(trace: Trace) -> None:
    trace.launch((100, 110), (93, 120))
    trace.launch((200, 210), (159, 220))
    trace.launch((300, 310), (310, 320))
    assert trace.ask(CHECK) == [(3, 2, 41, False)]


def test_one_in_a_hundred_may(trace: Trace) -> None:
    for number in range(99):
        trace.launch((10 * number, 10 * number + 1), (10 * number + 2, 10 * number + 3))
    trace.launch((2_000, 2_001), (1_990, 2_003))
    assert trace.ask(CHECK) == [(100, 1, 10, True)]
    trace.threshold("clock_early_share", 0)
    assert trace.ask(CHECK) == [(100, 1, 10, False)]


def test_each_device_is_judged_by_itself(trace: Trace) -> None:
    trace.launch((100, 110), (120, 130), device_id=0)
    trace.launch((100, 110), (90, 130), device_id=1)
    assert trace.ask("SELECT device_key, is_aligned FROM clock_check ORDER BY ALL") == [
        (1, True),
        (2, False),
    ]


def test_without_a_launch_call_nothing_can_be_said(trace: Trace) -> None:
    trace.kernel(0, 10)
    assert trace.ask(CHECK) == []
