from typing import Any

import pytest
from rows import Trace

NCCL = "ncclAllReduce"
GRID = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 32, "block_y": 1, "block_z": 1}


def gemm(trace: Trace, start_ns: int, end_ns: int, **more: Any) -> None:
    trace.kernel(start_ns, end_ns, "gemm", **{**GRID, **more})


def alone(trace: Trace, count: int, **more: Any) -> None:
    """Kernels of 10 ns with nothing beside them."""
    for k in range(count):
        gemm(trace, 1000 + 20 * k, 1010 + 20 * k, **more)


def slowdown(trace: Trace) -> tuple[Any, ...]:
    ((*row,),) = trace.ask(
        "SELECT beside_count, beside_ns, alone_ns, slowdown FROM communication_overlap"
    )
    return tuple(row)


def test_communication_on_a_stream_that_also_computes(trace: Trace) -> None:
    gemm(trace, 0, 10)
    trace.kernel(20, 50, NCCL)
    trace.kernel(60, 70, NCCL, stream_id=20)
    row = trace.only("FROM communication_overlap")
    assert (row["nccl_count"], row["nccl_sum_ns"]) == (2, 40)
    assert (row["shared_stream_count"], row["shared_stream_share"]) == (1, 0.75)


def test_compute_beside_communication_against_the_same_alone(trace: Trace) -> None:
    alone(trace, 3)
    trace.kernel(0, 100, NCCL, stream_id=20)
    gemm(trace, 10, 25)
    gemm(trace, 40, 55)
    assert slowdown(trace) == (2, 30, 20, 1.5)


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "is_beside"),
    [(40, 50, False), (40, 51, True), (95, 110, True), (100, 110, False), (40, 120, True)],
)
def test_what_is_beside(trace: Trace, start_ns: int, end_ns: int, is_beside: bool) -> None:
    alone(trace, 3)
    trace.kernel(50, 100, NCCL, stream_id=20)
    gemm(trace, start_ns, end_ns)
    assert slowdown(trace)[0] == int(is_beside)


def test_a_long_one_reaches_over_a_short_one(trace: Trace) -> None:
    alone(trace, 3)
    trace.kernel(0, 100, NCCL, stream_id=20)
    trace.kernel(10, 20, NCCL, stream_id=21)
    gemm(trace, 60, 70)
    assert slowdown(trace)[0] == 1


def test_twice_alone_is_too_few_to_compare(trace: Trace) -> None:
    alone(trace, 2)
    trace.kernel(0, 100, NCCL, stream_id=20)
    gemm(trace, 10, 25)
    assert slowdown(trace) == (0, 0, None, None)


def test_another_grid_is_other_work(trace: Trace) -> None:
    alone(trace, 3, grid_x=9)
    trace.kernel(0, 100, NCCL, stream_id=20)
    gemm(trace, 10, 25)
    assert slowdown(trace) == (0, 0, None, None)


def test_kernels_are_weighted_by_how_often_they_run_beside(trace: Trace) -> None:
    alone(trace, 3)
    for k in range(3):
        trace.kernel(5000 + 200 * k, 5100 + 200 * k, "norm", **GRID)
    trace.kernel(0, 1000, NCCL, stream_id=20)
    gemm(trace, 10, 30)  # 20 for 10
    trace.kernel(100, 200, "norm", **GRID)  # 100 for 100
    assert slowdown(trace) == (2, 120, 110, 120 / 110)


def test_each_device_by_itself_and_none_without_communication(trace: Trace) -> None:
    trace.kernel(0, 100, NCCL, stream_id=20)
    gemm(trace, 10, 25)
    alone(trace, 3, process=2)
    assert slowdown(trace) == (0, 0, None, None)
