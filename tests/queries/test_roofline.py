from typing import Any

import pytest
from rows import Trace

# 2 FLOP a byte of DRAM against a ridge of 4.
METRICS: dict[str, float | None] = {
    "sm__cycles_elapsed.avg.per_second": 1e9,
    "gpu__time_duration.sum": 1000.0,
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed": 20.0,
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed": 0.0,
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": 90.0,
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 200.0,
    "dram__bytes.sum.per_second": 100e9,
    "dram__bytes.sum.peak_sustained": 100.0,
    "dram__cycles_elapsed.avg.per_second": 1e9,
}


def points(trace: Trace, columns: str) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {columns} FROM roofline")


def test_a_point_under_the_memory_roof(trace: Trace) -> None:
    trace.profile(dict(METRICS), "silu")
    row = trace.only("FROM roofline")
    assert (row["name"], row["level"], row["work"], row["roof"]) == (
        "silu", "DRAM", "fp32", "memory",
    )  # fmt: skip
    assert (row["intensity"], row["ridge"]) == (2, 4)
    assert (row["flops_per_s"], row["peak_flops_per_s"]) == (200e9, 400e9)
    assert (row["attainable_flops_per_s"], row["roof_share"]) == (200e9, 1)
    assert (row["bytes_per_s"], row["peak_bytes_per_s"], row["memory_share"]) == (100e9, 100e9, 1)
    assert (row["flop"], row["bytes"]) == (200e3, 100e3)  # in 1 us


def test_a_point_under_the_compute_roof(trace: Trace) -> None:
    trace.profile({**METRICS, "dram__bytes.sum.per_second": 20e9})
    assert points(trace, "intensity, roof, attainable_flops_per_s, roof_share") == [
        (10, "compute", 400e9, 0.5)
    ]


def test_at_the_ridge_both_roofs_are_the_same(trace: Trace) -> None:
    trace.profile({**METRICS, "dram__bytes.sum.per_second": 50e9})
    assert points(trace, "intensity, roof, attainable_flops_per_s") == [(4, "compute", 400e9)]


def test_every_level_and_kind(trace: Trace) -> None:
    stem = "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum"
    trace.profile({
        **METRICS,
        f"{stem}.per_cycle_elapsed": 400.0,
        f"{stem}.peak_sustained": 800.0,
        "lts__lts2xbar_cycles_active.sum.per_second": 100e9 / 32,
        "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second": 400e9,
    })  # fmt: skip
    assert points(trace, "level, work, intensity, ridge") == [
        ("DRAM", "fp32", 2, 4),
        ("DRAM", "tensor bf16", 4, 8),
        ("L1", "fp32", 0.5, None),
        ("L1", "tensor bf16", 1, None),
        ("L2", "fp32", 2, None),
        ("L2", "tensor bf16", 4, None),
    ]


def test_no_byte_at_all_is_a_kernel_that_computes(trace: Trace) -> None:
    trace.profile({**METRICS, "dram__bytes.sum.per_second": 0.0})
    assert points(trace, "intensity, roof, attainable_flops_per_s") == [(None, "compute", 400e9)]


@pytest.mark.parametrize("left_out", ["dram__bytes.sum.peak_sustained", "sm__sass_thread_inst"])
def test_without_a_peak_there_is_no_roof(trace: Trace, left_out: str) -> None:
    trace.profile({k: v for k, v in METRICS.items() if not k.startswith(left_out)})
    assert points(trace, "intensity, ridge, roof, attainable_flops_per_s, roof_share") == [
        (2, None, None, None, None)
    ]


def test_a_copy_has_no_point(trace: Trace) -> None:
    work = {k: 0.0 for k in METRICS if k.endswith("pred_on.sum.per_cycle_elapsed")}
    trace.profile({**METRICS, **work})
    assert points(trace, "work") == []


def test_the_clock_is_said(trace: Trace) -> None:
    trace.profile({**METRICS, "device__attribute_clock_rate": 2e6})
    assert points(trace, "clock_hz, is_clock_locked") == [(1e9, True)]


def test_sparse_work_can_pass_the_dense_roof(trace: Trace) -> None:
    stem = "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity"
    trace.profile({
        **{k: v for k, v in METRICS.items() if "sass" not in k},
        "dram__bytes.sum.per_second": 1e9,
        f"{stem}_on.sum.per_cycle_elapsed": 1500.0,
        f"{stem}_off.sum.per_cycle_elapsed": 0.0,
        f"{stem}_off.sum.peak_sustained": 1000.0,
    })  # fmt: skip
    assert points(trace, "work, peak_flops_per_s, roof_share") == [("tensor fp16", 1e12, 1.5)]
