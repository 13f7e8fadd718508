"""Ranks of one file, on one clock, in steps of 100 us; an all-reduce of 10 us ends each."""

from typing import Any

import pytest
from rows import Trace

US = 1_000
REDUCE = "ncclAllReduce"
COLUMNS = "rank, verdict, critical_count, lost_ns, reason"


def job(trace: Trace, *ranks: Any, steps: int = 4, is_reduced: bool = True) -> None:
    """``ranks``: how long (us) each computes in every step, or a list of these by step."""
    for rank, own in enumerate(ranks):
        where = trace.rank(rank, source_id="one file")
        begin = 0
        for step in range(steps):
            own_us = [each[step] if isinstance(each, list) else each for each in ranks]
            mine = own[step] if isinstance(own, list) else own
            length = (max(own_us) + 10) * US
            trace.step(where, begin, begin + length, f"step {step}")
            trace.launched(where, begin, begin + mine * US)
            if is_reduced:
                trace.launched(where, begin + mine * US, begin + length, REDUCE)
            begin += length
    trace.keep_for("straggler")


def asked(trace: Trace, columns: str = COLUMNS) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {columns} FROM straggler")


def test_one_slow_rank_among_four(trace: Trace) -> None:
    job(trace, 100, 100, 130, 100)
    why = (
        "slower_kernels: 30000 ns per step more than the median rank; the same kernels take"
        " longer, most of them gemm; no samples of its SM clock"
    )
    assert asked(trace) == [
        (0, "ordinary", 0, 0, None),
        (1, "ordinary", 0, 0, None),
        (2, "straggler", 4, 120 * US, why),
        (3, "ordinary", 0, 0, None),
    ]
    columns = "last_arrival_count, caused_wait_ns, mean_own_ns, ordinary_own_ns, slowness"
    assert asked(trace, columns)[2] == (4, 360 * US, 130 * US, 100 * US, 1.3)
    # Of 4 x 140 us the job would have saved 4 x 30.
    assert asked(trace, "lost_share, what_if_slowdown")[2] == (120 / 560, 560 / 440)
    assert asked(trace, "rank_count, step_count")[2] == (4, 4)


def test_one_late_step_is_enough_to_be_waited_for(trace: Trace) -> None:
    job(trace, 100, [100, 300, 100, 100], 100, 100)
    _, late, *_ = asked(trace)
    assert late[:2] == (1, "straggler") and late[3] == 200 * US


def test_more_kernels(trace: Trace) -> None:
    job(trace, 100, 100, 100, 100)
    where = trace.rank(0, source_id="one file")
    for step in range(4):
        begin = 110 * US * step
        # Beside the others: it costs nothing.
        trace.launched(where, begin + 40 * US, begin + 60 * US, stream_id=8)
    trace.keep_for("straggler")
    assert {row[1] for row in asked(trace)} == {"ordinary"}


def test_two_late_ranks_in_turn_are_both_named(trace: Trace) -> None:
    job(trace, [130, 100] * 2, [100, 130] * 2, 100, 100)
    assert [row[1:4] for row in asked(trace)] == [
        ("straggler", 2, 60 * US),
        ("straggler", 2, 60 * US),
        ("ordinary", 0, 0),
        ("ordinary", 0, 0),
    ]


def test_ranks_that_are_alike_have_no_straggler(trace: Trace) -> None:
    job(trace, 100, 101, 100, 100)
    assert {row[1] for row in asked(trace)} == {"ordinary"}
    # The slowest is always waited for; 1 % of loss is below the threshold.
    assert [row[2] for row in asked(trace)] == [0, 4, 0, 0]


def test_a_rank_that_is_idle_while_others_compute_is_not_late(trace: Trace) -> None:
    for rank in range(4):
        where = trace.rank(rank, source_id="one file")
        for step in range(4):
            begin = 110 * US * step
            trace.step(where, begin, begin + 110 * US, f"step {step}")
            # All have the same gap of 20 us; rank 1 has one twice as long.
            trace.launched(where, begin, begin + (60 if rank == 1 else 80) * US)
            trace.launched(where, begin + 100 * US, begin + 110 * US, REDUCE)
    trace.keep_for("straggler")
    assert [row[:2] + row[3:] for row in asked(trace)] == [
        (rank, "ordinary", 0, None) for rank in range(4)
    ]


def test_spread_among_ranks_is_no_outlier(trace: Trace) -> None:
    job(trace, 100, 105, 110, 115, 120)
    assert {row[1] for row in asked(trace)} == {"ordinary"}


@pytest.mark.parametrize(
    ("count", "why"),
    [
        (1, "only one rank is present"),
        (2, "fewer than 4 ranks: nothing says which of them is ordinary"),
        (3, "fewer than 4 ranks: nothing says which of them is ordinary"),
    ],
)
def test_too_few_ranks(trace: Trace, count: int, why: str) -> None:
    job(trace, *[100, 150, 100][:count])
    rows = asked(trace, "verdict, reason, outlier_score")
    assert rows == [("cannot tell", why, None)] * count
    lost = asked(trace, "lost_ns, lost_share, critical_count")
    assert (lost == [(None, None, None)]) == (count == 1)


def test_two_ranks_still_say_what_they_cost_each_other(trace: Trace) -> None:
    job(trace, 100, 150)
    assert asked(trace, "critical_count, lost_ns") == [(0, 0), (4, 200 * US)]


def test_without_collectives(trace: Trace) -> None:
    job(trace, 100, 100, 150, 100, is_reduced=False)
    rows = asked(trace, "verdict, reason, lost_ns, critical_count, caused_wait_ns")
    assert rows == [("cannot tell", "no collectives are recorded", None, None, None)] * 4


def test_a_rank_without_collectives_leaves_the_others_untold(trace: Trace) -> None:
    job(trace, 100, 100, 150, 100)
    where = trace.rank(4, source_id="one file")
    for step in range(4):
        begin = 160 * US * step
        trace.step(where, begin, begin + 160 * US, f"step {step}")
        trace.launched(where, begin, begin + 160 * US)
    trace.keep_for("straggler")
    rows = asked(trace, "verdict, reason")
    assert rows[0] == ("cannot tell", "the waits of another rank are unknown")
    assert rows[4] == ("cannot tell", "no collectives are recorded")


def test_too_few_steps(trace: Trace) -> None:
    job(trace, 100, 100, 150, 100, steps=2)
    assert set(asked(trace, "verdict, reason")) == {("cannot tell", "fewer than 3 steps")}


def test_different_counts_are_the_reason(trace: Trace) -> None:
    job(trace, 100, 100, 150, 100)
    for step in range(4):
        begin = 160 * US * step
        where = trace.rank(0, source_id="one file")
        trace.launched(where, begin + 20 * US, begin + 21 * US, REDUCE)
    trace.keep_for("straggler")
    why = "ranks ran different numbers of it"
    assert set(asked(trace, "verdict, reason")) == {("cannot tell", why)}
