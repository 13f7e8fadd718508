from typing import Any

from rows import Trace

REDUCE = "ncclAllReduce"


def two_ranks(trace: Trace) -> list[dict[str, Any]]:
    """Two ranks in one file, on one clock, with step 1 in [100, 200) and step 2 in [200, 300)."""
    ranks = [trace.rank(rank, source_id="both") for rank in (0, 1)]
    for where in ranks:
        for step in (1, 2):
            begin = 100 * step
            trace.step(where, begin, begin + 100, f"step {step}")
            trace.launched(where, begin, begin + 20)
            trace.launched(where, begin + 90, begin + 100)
    return ranks


def waits(trace: Trace) -> list[tuple[Any, ...]]:
    return trace.ask("SELECT * FROM step_wait ORDER BY device_key, step")


def test_waits_of_a_step(trace: Trace) -> None:
    one, other = two_ranks(trace)
    trace.launched(one, 130, 160, REDUCE)
    trace.launched(one, 170, 180, REDUCE)
    trace.launched(other, 150, 160, REDUCE)
    trace.launched(other, 165, 180, REDUCE)
    # The one waits 20, then comes 2.5 after the median; the other waits 5.
    assert waits(trace) == [(1, 1, 2, 2, 20, 20, 0, 20, 2), (2, 1, 2, 2, 5, 5, 0, 20, 10)]


def test_compute_beside_it_hides_waiting(trace: Trace) -> None:
    one, other = two_ranks(trace)
    trace.launched(one, 130, 180, REDUCE, stream_id=20)
    trace.launched(one, 140, 155)
    trace.launched(other, 160, 180, REDUCE, stream_id=20)
    assert [row[4:8] for row in waits(trace)] == [(30, 15, 15, 20), (0, 0, 0, 20)]


def test_waits_and_transfers_that_overlap_count_once(trace: Trace) -> None:
    one, other = two_ranks(trace)
    for stream_id in (20, 21):
        trace.launched(one, 130, 180, REDUCE, stream_id=stream_id)
        trace.launched(other, 160, 180, REDUCE, stream_id=stream_id)
    assert [row[4:8] for row in waits(trace)] == [(60, 30, 0, 20), (0, 0, 0, 20)]


def test_waiting_over_the_end_of_the_step_counts_to_the_step_that_launched_it(
    trace: Trace,
) -> None:
    # Launched in step 1, it runs on into step 2, whose work begins at 200.
    one, other = two_ranks(trace)
    trace.launched(one, 170, 260, REDUCE, stream_id=20)
    trace.launched(other, 240, 260, REDUCE, stream_id=20, call_ns=170)
    # Of the wait in [170, 240) compute hides [190, 220). The other's starts in step 2.
    assert waits(trace) == [(1, 1, 1, 1, 70, 40, 30, 20, 0), (2, 1, 1, 1, 0, 0, 0, 20, 35)]


def test_what_cannot_be_split_is_unknown(trace: Trace) -> None:
    one, _ = two_ranks(trace)
    trace.launched(one, 130, 160, REDUCE)
    assert waits(trace) == [(1, 1, 1, 0, None, None, None, 30, None)]


def test_what_cannot_be_split_adds_nothing_to_what_can(trace: Trace) -> None:
    one, other = two_ranks(trace)
    trace.launched(one, 130, 140, "ncclSendRecv")
    trace.launched(one, 150, 180, REDUCE)
    trace.launched(other, 155, 180, REDUCE)
    assert waits(trace) == [(1, 1, 2, 1, 5, 5, 0, 35, 0), (2, 1, 1, 1, 0, 0, 0, 25, 2)]


def test_outside_of_steps_there_is_nothing(trace: Trace) -> None:
    one, other = two_ranks(trace)
    trace.launched(one, 400, 410, REDUCE)
    trace.launched(other, 400, 410, REDUCE)
    assert waits(trace) == []
