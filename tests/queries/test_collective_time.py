from typing import Any

import pytest
from rows import Trace

REDUCE = "ncclAllReduce"
US = 1_000
SPLIT = """
    SELECT wait_ns, transfer_ns, tail_ns, is_last, late_ns, arrival_skew_ns
    FROM collective_time ORDER BY instance, device_key
"""
APART = "ranks do not meet in it: more than one communicator, or wrong clocks"


def meet(trace: Trace, *spans: tuple[int, int], name: str = REDUCE, **more: Any) -> None:
    """One collective, rank by rank in [start, end); all in one file, so on one clock."""
    for rank, (start_ns, end_ns) in enumerate(spans):
        where = trace.rank(rank, source_id="one file")
        trace.kernel(start_ns, end_ns, name, **where, **more)


def test_wait_transfer_and_tail(trace: Trace) -> None:
    meet(trace, (10, 100), (0, 102), (40, 100))
    assert trace.ask(SPLIT) == [
        (30, 60, 0, False, 0, 40),
        (40, 60, 2, False, -10, 40),
        (0, 60, 0, True, 30, 40),
    ]
    assert trace.ask("SELECT DISTINCT method, reason, rank_count FROM collective_time") == [
        ("common window", None, 3)
    ]


def test_of_two_that_arrive_together_one_is_last(trace: Trace) -> None:
    meet(trace, (0, 100), (0, 100))
    assert [row[3] for row in trace.ask(SPLIT)] == [True, False]


def test_one_rank_only_has_no_split(trace: Trace) -> None:
    meet(trace, (0, 100))
    assert trace.ask(SPLIT) == [(None, None, None, None, None, None)]
    assert trace.ask("SELECT method, reason FROM collective_time") == [
        (None, "only one rank is present")
    ]


def test_a_single_instance_without_common_window(trace: Trace) -> None:
    for k in range(19):
        meet(trace, (100 * k, 100 * k + 50), (100 * k, 100 * k + 50))
    meet(trace, (5000, 5050), (5060, 5090))
    *_, one, other = trace.ask(
        "SELECT wait_ns, transfer_ns, tail_ns, is_last, method FROM collective_time"
        " ORDER BY instance, device_key"
    )
    assert one == (20, 30, 0, False, "shortest duration")
    assert other == (0, 30, 0, True, "shortest duration")


def test_ranks_that_miss_each_other_are_refused(trace: Trace) -> None:
    for k in range(4):
        zero = 1000 * US * k
        meet(trace, (zero, zero + 100 * US), (zero + 300 * US, zero + 400 * US))
    assert trace.ask("SELECT DISTINCT wait_ns, is_last, reason FROM collective_time") == [
        (None, None, APART)
    ]


def test_ranks_that_overlap_and_leave_scattered_are_refused(trace: Trace) -> None:
    # Two pairs, each of which meets; the pairs only happen to run at about the same time.
    for k in range(10):
        zero, later = 1000 * US * k, 1000 * US * k + 40 * US
        pair, other = (zero, zero + 100 * US), (later, later + 100 * US)
        meet(trace, pair, pair, other, other)
    assert trace.ask("SELECT DISTINCT wait_ns, reason FROM collective_time") == [(None, APART)]


def test_the_root_of_a_broadcast_may_leave_before_others_come(trace: Trace) -> None:
    # The same times that refuse an all-reduce, whose ranks have to meet.
    for k in range(4):
        zero = 1000 * US * k
        spans = (zero, zero + 100 * US), (zero + 300 * US, zero + 450 * US)
        meet(trace, *spans, name="ncclBroadcast")
    rows = trace.ask(
        "SELECT DISTINCT rank, wait_ns, transfer_ns, tail_ns, method, reason"
        " FROM collective_time JOIN traced_device USING (device_key) ORDER BY rank"
    )
    assert rows == [
        (0, 0, 100 * US, 0, "shortest duration", None),
        (1, 50 * US, 100 * US, 0, "shortest duration", None),
    ]


def test_a_few_that_miss_each_other_are_left(trace: Trace) -> None:
    for k in range(20):
        zero = 1000 * US * k
        late = 300 * US if k == 3 else 0
        meet(trace, (zero, zero + 100 * US), (zero + late, zero + late + 100 * US))
    assert trace.ask("SELECT method, count(*) FROM collective_time GROUP BY 1 ORDER BY 1") == [
        ("common window", 38),
        ("shortest duration", 2),
    ]


def test_short_ones_may_miss_each_other_by_the_error_of_clocks(trace: Trace) -> None:
    for k in range(4):
        zero = 1000 * US * k
        meet(trace, (zero, zero + 5 * US), (zero + 15 * US, zero + 19 * US))
    assert trace.ask("SELECT DISTINCT method FROM collective_time") == [("shortest duration",)]


def test_operations_and_streams_are_judged_apart(trace: Trace) -> None:
    for k in range(4):
        zero = 1000 * US * k
        meet(trace, (zero, zero + 100 * US), (zero, zero + 100 * US))
        apart = (zero + 200 * US, zero + 250 * US), (zero + 300 * US, zero + 350 * US)
        meet(trace, *apart, stream_id=8)
        meet(trace, *apart, name="ncclAllGather")
    rows = trace.ask(
        "SELECT DISTINCT operation, stream_id, reason FROM collective_time ORDER BY ALL"
    )
    assert rows == [("all_gather", 7, APART), ("all_reduce", 7, None), ("all_reduce", 8, APART)]


def test_different_counts_keep_their_reason(trace: Trace) -> None:
    meet(trace, (0, 100), (0, 100))
    meet(trace, (200, 300))
    assert trace.ask("SELECT DISTINCT wait_ns, reason FROM collective_time") == [
        (None, "ranks ran different numbers of it")
    ]


@pytest.mark.parametrize("error_ns", [-50_000 * US, 0, 50_000 * US])
def test_clocks_of_two_files(trace: Trace, error_ns: int) -> None:
    one, other = trace.rank(0), trace.rank(1)
    for k in range(9):
        zero = 100_000 * US * (k + 1)
        trace.kernel(zero, zero + 900, REDUCE, **one)
        zero += error_ns + (zero // 50_000)  # and 20 ppm of drift
        trace.kernel(zero + 500, zero + 900, REDUCE, **other)
    rows = trace.ask(SPLIT)
    assert [row[:3] for row in rows[::2]] == [(pytest.approx(500, abs=1), 400, 0)] * 9
    assert [row[:4] for row in rows[1::2]] == [(0, 400, 0, True)] * 9
