from typing import Any

from rows import Trace

PLACES = """
    SELECT operation, step, is_after_step, ordinal FROM collective_place ORDER BY start_ns
"""
REDUCE, GATHER = "ncclAllReduce", "ncclAllGather"


def rank_with_steps(trace: Trace, rank: int = 0, name: str = "step {}") -> dict[str, Any]:
    """Steps 4 and 5 on the host, in [100, 200) and [300, 400), each with a kernel."""
    where = trace.rank(rank)
    for step, begin in ((4, 100), (5, 300)):
        trace.step(where, begin, begin + 100, name.format(step))
        trace.launched(where, begin, begin + 1)
    return where


def test_the_kth_of_an_operation_inside_a_step(trace: Trace) -> None:
    where = rank_with_steps(trace)
    trace.launched(where, 110, 120, REDUCE)
    trace.launched(where, 130, 140, GATHER)
    trace.launched(where, 150, 160, REDUCE)
    trace.launched(where, 310, 320, REDUCE)
    assert trace.ask(PLACES) == [
        ("all_reduce", 4, False, 1),
        ("all_gather", 4, False, 1),
        ("all_reduce", 4, False, 2),
        ("all_reduce", 5, False, 1),
    ]


def test_streams_are_counted_apart(trace: Trace) -> None:
    where = rank_with_steps(trace)
    trace.launched(where, 110, 120, REDUCE, stream_id=16)
    trace.launched(where, 130, 140, REDUCE, stream_id=17)
    assert [row[3] for row in trace.ask(PLACES)] == [1, 1]


def test_the_launch_decides_not_the_time_on_the_gpu(trace: Trace) -> None:
    where = rank_with_steps(trace)
    trace.launched(where, 350, 360, REDUCE, call_ns=190)
    assert trace.ask(PLACES) == [("all_reduce", 4, False, 1)]


def test_between_two_steps_it_is_counted_apart(trace: Trace) -> None:
    where = rank_with_steps(trace)
    trace.launched(where, 110, 120, REDUCE)
    trace.launched(where, 210, 220, REDUCE)
    assert trace.ask(PLACES) == [("all_reduce", 4, False, 1), ("all_reduce", 4, True, 1)]


def test_before_the_first_and_after_the_last_step_it_is_outside(trace: Trace) -> None:
    where = rank_with_steps(trace)
    for start_ns in (50, 110, 450):
        trace.launched(where, start_ns, start_ns + 10, REDUCE)
    assert [row[1] for row in trace.ask(PLACES)] == [None, 4, None]


def test_without_a_recorded_launch_it_is_outside(trace: Trace) -> None:
    where = rank_with_steps(trace)
    trace.launched(where, 110, 120, REDUCE)
    trace.kernel(130, 140, REDUCE, **where)
    assert [row[1] for row in trace.ask(PLACES)] == [4, None]


def test_a_rank_without_steps_makes_all_count_over_the_capture(trace: Trace) -> None:
    where = rank_with_steps(trace)
    for start_ns in (110, 310):
        trace.launched(where, start_ns, start_ns + 10, REDUCE)
    trace.launched(trace.rank(1), 510, 520, REDUCE)
    assert trace.ask(PLACES) == [
        ("all_reduce", None, False, 1),
        ("all_reduce", None, False, 2),
        ("all_reduce", None, False, 1),
    ]
    counted = trace.ask("SELECT DISTINCT device_count, has_steps FROM collective_place")
    assert counted == [(2, False)]


def test_a_rank_without_communication_does_not_matter(trace: Trace) -> None:
    where = rank_with_steps(trace)
    trace.launched(where, 110, 120, REDUCE)
    trace.launched(trace.rank(1), 110, 120, "gemm")
    assert trace.ask("SELECT step, device_count FROM collective_place") == [(4, 1)]


def test_whether_steps_are_numbered_by_their_names(trace: Trace) -> None:
    where = rank_with_steps(trace)
    trace.launched(where, 110, 120, REDUCE)
    assert trace.ask("SELECT is_numbered FROM collective_place") == [(True,)]
    where = rank_with_steps(trace, rank=1, name="train_step")
    trace.launched(where, 110, 120, REDUCE)
    assert trace.ask("SELECT DISTINCT is_numbered FROM collective_place") == [(False,)]
