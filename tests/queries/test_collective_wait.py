from typing import Any

from rows import Trace


def meet(trace: Trace, *spans: tuple[int, int], name: str = "ncclAllReduce") -> None:
    for rank, (start_ns, end_ns) in enumerate(spans):
        trace.kernel(start_ns, end_ns, name, **trace.rank(rank, source_id="one file"))


def rows(trace: Trace, columns: str) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {columns} FROM collective_wait")


def test_sums_of_each_rank(trace: Trace) -> None:
    meet(trace, (0, 100), (60, 100))
    meet(trace, (200, 300), (210, 300))
    meet(trace, (420, 502), (400, 500))
    columns = "rank, collective_count, split_count, nccl_sum_ns, wait_ns, transfer_ns, tail_ns"
    assert rows(trace, columns) == [(0, 3, 3, 282, 70, 210, 2), (1, 3, 3, 230, 20, 210, 0)]
    assert rows(trace, "rank, wait_share, reason") == [(0, 70 / 282, None), (1, 20 / 230, None)]


def test_who_came_last_and_what_the_others_waited(trace: Trace) -> None:
    meet(trace, (0, 100), (60, 100), (50, 100))
    meet(trace, (200, 300), (210, 300), (205, 300))
    meet(trace, (420, 500), (400, 500), (410, 500))
    columns = "rank, last_arrival_count, last_arrival_share, caused_wait_ns"
    assert rows(trace, columns) == [(0, 1, 1 / 3, 30), (1, 2, 2 / 3, 85), (2, 0, 0, 0)]


def test_what_cannot_be_split_is_in_no_share(trace: Trace) -> None:
    meet(trace, (0, 100), (60, 100))
    meet(trace, (200, 300), name="ncclSendRecv")
    first, second = rows(trace, "split_count, nccl_sum_ns, wait_ns, wait_share, reason")
    alone = "no other rank ran this operation on this stream"
    assert first == (1, 200, 60, 0.6, alone)
    assert second == (1, 40, 0, 0, None)


def test_one_rank_only_is_unknown_with_its_reason(trace: Trace) -> None:
    meet(trace, (0, 100))
    row = trace.only("FROM collective_wait")
    assert (row["collective_count"], row["split_count"], row["nccl_sum_ns"]) == (1, 0, 100)
    unknown = ("wait_ns", "transfer_ns", "tail_ns", "wait_share", "last_arrival_count")
    unknown += ("last_arrival_share", "caused_wait_ns", "median_residual_ns")
    assert {row[name] for name in unknown} == {None}
    assert row["reason"] == "only one rank is present"


def test_reasons_are_named_once_each(trace: Trace) -> None:
    meet(trace, (0, 10), (0, 10), name="ncclAllGather")
    meet(trace, (20, 30), name="ncclAllGather")
    meet(trace, (40, 50), name="ncclSendRecv")
    first, _ = rows(trace, "reason")
    assert first == (
        "no other rank ran this operation on this stream; ranks ran different numbers of it",
    )


def test_residuals(trace: Trace) -> None:
    for k, late_ns in enumerate((0, 0, 8, 0)):
        zero = 1000 * k
        trace.kernel(zero, zero + 100, "ncclAllReduce", **trace.rank(0))
        trace.kernel(zero, zero + 100 + late_ns, "ncclAllReduce", **trace.rank(1))
    assert rows(trace, "median_residual_ns, worst_residual_ns") == [(0, 4), (0, 4)]
