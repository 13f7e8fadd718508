from rows import Trace

ACTIVITY = """
    SELECT step, start_ns, end_ns, is_first FROM step_activity ORDER BY start_ns, step, end_ns
"""


def two_steps(trace: Trace) -> None:
    """[1000, 1100) and [1100, 1200); in each a kernel of 10 ns at the begin and at the end."""
    for step, start_ns in enumerate((1_000, 1_100)):
        trace.range(100 * step, 100 * step + 100, f"step {step}")
        for place, at in enumerate((start_ns, start_ns + 90)):
            call_ns = 100 * step + 10 * place
            trace.launch((call_ns, call_ns + 5), (at, at + 10), "own")


OTHERS = """
    SELECT step, start_ns, end_ns, is_first FROM step_activity
    WHERE stream_id = 8 ORDER BY start_ns, step
"""


def test_what_an_activity_is(trace: Trace) -> None:
    two_steps(trace)
    trace.kernel(1_020, 1_030, "nccl_all_reduce", stream_id=8)
    trace.graph(1_030, 1_040, stream_id=8)
    trace.copy(1_040, 1_050, stream_id=8)
    trace.set(1_050, 1_060, stream_id=8)
    assert trace.ask(
        """
        SELECT kind, is_communication, is_compute, name_id IS NULL, device_key
        FROM step_activity WHERE stream_id = 8 ORDER BY start_ns
        """
    ) == [
        ("kernel", True, False, False, 1),
        ("graph_launch", False, True, True, 1),
        ("memory_copy", False, False, True, 1),
        ("memory_set", False, False, True, 1),
    ]


def test_each_activity_is_in_its_step(trace: Trace) -> None:
    two_steps(trace)
    assert trace.ask(ACTIVITY) == [
        (0, 1_000, 1_010, True),
        (0, 1_090, 1_100, True),
        (1, 1_100, 1_110, True),
        (1, 1_190, 1_200, True),
    ]


def test_what_reaches_over_the_end_of_a_step_is_cut_there(trace: Trace) -> None:
    two_steps(trace)
    trace.kernel(1_050, 1_150, stream_id=8)
    assert trace.ask(OTHERS) == [(0, 1_050, 1_100, True), (1, 1_100, 1_150, False)]


def test_what_reaches_over_everything_is_in_every_step(trace: Trace) -> None:
    two_steps(trace)
    trace.kernel(500, 1_500, stream_id=8)
    assert trace.ask(OTHERS) == [(0, 1_000, 1_100, False), (1, 1_100, 1_200, False)]


def test_what_only_touches_a_step_is_not_in_it(trace: Trace) -> None:
    two_steps(trace)
    trace.kernel(900, 1_000, stream_id=8)
    trace.kernel(1_050, 1_100, stream_id=8)
    trace.kernel(1_200, 1_300, stream_id=8)
    assert trace.ask(OTHERS) == [(0, 1_050, 1_100, True)]


def test_what_was_before_and_after_all_steps_is_in_none(trace: Trace) -> None:
    two_steps(trace)
    trace.kernel(0, 10, stream_id=8)
    trace.kernel(2_000, 2_010, stream_id=8)
    assert trace.ask(OTHERS) == []


def test_an_activity_of_no_length_counts_where_it_starts(trace: Trace) -> None:
    two_steps(trace)
    for at in (1_000, 1_050, 1_100):
        trace.kernel(at, at, stream_id=8)
    assert trace.ask(OTHERS) == [
        (0, 1_000, 1_000, True),
        (0, 1_050, 1_050, True),
        (1, 1_100, 1_100, True),
    ]


def test_a_step_of_no_length_has_no_activity(trace: Trace) -> None:
    # Steps 1 and 2 start with step 3, where step 0 ends.
    for step, work in enumerate([(1_000, 1_100), (1_100, 1_150), (1_100, 1_160), (1_100, 1_170)]):
        trace.range(100 * step, 100 * step + 100, f"step {step}")
        trace.launch((100 * step, 100 * step + 1), work, stream_id=step)
    assert trace.ask("SELECT step, count(*) FROM step_activity GROUP BY step ORDER BY step") == [
        (0, 1),
        (3, 3),
    ]


def test_steps_of_another_device_do_not_matter(trace: Trace) -> None:
    two_steps(trace)
    trace.kernel(1_050, 1_150, device_id=1, stream_id=8)
    assert trace.ask(OTHERS) == []


def test_without_steps_there_is_nothing(trace: Trace) -> None:
    trace.kernel(0, 10)
    assert trace.ask(ACTIVITY) == []
