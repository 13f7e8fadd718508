from typing import Any

from rows import Trace

REDUCE = "ncclAllReduce"


def job(trace: Trace, *own_ns: int, steps: tuple[int, ...] = (1, 2), **more: Any) -> None:
    """Ranks in one file that compute own_ns in each step; then an all-reduce takes 10."""
    for rank, own in enumerate(own_ns):
        where = trace.rank(rank, source_id="one file")
        for step in steps:
            slowest = max(own_ns)
            begin = 1000 * step
            trace.step(where, begin, begin + slowest + 10, f"step {step}")
            trace.launched(where, begin, begin + own)
            trace.launched(where, begin + own, begin + slowest + 10, REDUCE)
            # Fills the time up to the next step, so that each takes 1000.
            if step + 1 in steps:
                trace.launched(where, begin + slowest + 10, begin + 1000, "rest")


def asked(trace: Trace, columns: str) -> list[tuple[Any, ...]]:
    trace.keep_for("rank_step")
    return trace.ask(f"SELECT {columns} FROM rank_step ORDER BY step, device_key")


def test_each_step_beside_the_same_on_other_ranks(trace: Trace) -> None:
    job(trace, 100, 100, 130, steps=(1,))
    trace.step({"process": 1, "source_id": "one file"}, 5000, 5001, "step 2")  # without work
    for process in (2, 3):
        trace.step({"process": process, "source_id": "one file"}, 5000, 5001, "step 2")
    columns = "step_ns, own_ns, exposed_wait_ns, exposed_transfer_ns, communication_ns, compute_ns"
    assert asked(trace, columns) == [
        (140, 100, 30, 10, 40, 100),
        (140, 100, 30, 10, 40, 100),
        (140, 130, 0, 10, 10, 130),
    ]
    judged = asked(trace, "rank_count, ordinary_ns, is_critical, excess_ns")
    assert judged == [(3, 100, False, 0), (3, 100, False, 0), (3, 100, True, 30)]


def test_the_ordinary_rank_is_the_lower_median(trace: Trace) -> None:
    job(trace, 100, 110, 120, 130)
    assert set(asked(trace, "ordinary_ns")[:4]) == {(110,)}
    assert [row[0] for row in asked(trace, "excess_ns")[:4]] == [0, 0, 10, 20]


def test_of_ranks_that_waited_alike_the_slower_is_critical(trace: Trace) -> None:
    job(trace, 100, 100)
    assert [row[0] for row in asked(trace, "is_critical")[:2]] == [True, False]


def test_without_waits_nobody_is_known_to_be_critical(trace: Trace) -> None:
    job(trace, 100)
    columns = "DISTINCT rank_count, exposed_wait_ns, is_critical, exposed_transfer_ns, excess_ns"
    trace.keep_for("rank_step")
    assert trace.ask(f"SELECT {columns} FROM rank_step") == [(1, None, None, 10, 0)]


def test_one_rank_without_waits_leaves_all_unknown(trace: Trace) -> None:
    job(trace, 100, 120)
    where = trace.rank(2, source_id="one file")
    for step in (1, 2):
        trace.step(where, 1000 * step, 1000 * step + 500, f"step {step}")
        trace.launched(where, 1000 * step, 1000 * step + 500)
    assert set(asked(trace, "is_critical, rank_count")) == {(None, 3)}


def test_a_capture_that_begins_later_is_compared_where_most_are(trace: Trace) -> None:
    for rank, steps in enumerate(((1, 2, 3, 4), (1, 2, 3, 4), (3, 4, 5), (3, 4, 5))):
        where = trace.rank(rank, source_id="one file")
        for step in steps:
            trace.step(where, 1000 * step, 1000 * step + 500, f"step {step}")
            trace.launched(where, 1000 * step, 1000 * step + 500)
    assert asked(trace, "step, rank_count") == [(3, 4)] * 4 + [(4, 4)] * 4


def test_steps_that_summaries_leave_out_are_left_out(trace: Trace) -> None:
    for rank in (0, 1):
        where = trace.rank(rank, source_id="one file")
        begin = 0
        for step, length in enumerate((900, 100, 100, 100)):
            trace.step(where, begin, begin + length, f"step {step}")
            trace.launched(where, begin, begin + length)
            begin += length
    assert asked(trace, "step, step_ns") == [(s, 100) for s in (1, 1, 2, 2, 3, 3)]
