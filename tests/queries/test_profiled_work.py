import pytest
from rows import Trace

CLOCK = {"sm__cycles_elapsed.avg.per_second": 1e9}
INST = "sass_thread_inst_executed_op_"
ASK = "SELECT work, flops_per_s, peak_flops_per_s, peak_flops_source FROM profiled_work"


def per_cycle(letter: str, add: float, mul: float, fma: float) -> dict[str, float | None]:
    values = {"add": add, "mul": mul, "fma": fma}
    return {
        f"smsp__{INST}{letter}{op}_pred_on.sum.per_cycle_elapsed": value
        for op, value in values.items()
    }


def test_silu_on_an_a100(trace: Trace) -> None:
    # A published report, of which ncu says: 21 % of the fp32 peak, 0 % of the fp64 peak.
    trace.profile({
        **per_cycle("f", 140.64, 0.0, 1406.37),
        **per_cycle("d", 0.0, 0.0, 0.0),
        f"sm__{INST}ffma_pred_on.sum.peak_sustained": 6912.0,
        f"sm__{INST}dfma_pred_on.sum.peak_sustained": 3456.0,
        "sm__cycles_elapsed.avg.per_second": 1.0908e9,
    })  # fmt: skip
    (fp32, fp64) = trace.ask(ASK + " ORDER BY work")
    assert fp32[1] / fp32[2] == pytest.approx(0.2136, abs=1e-4)
    assert fp64[:3] == ("fp64", 0, pytest.approx(7.54e12, rel=1e-3))


def test_a_multiply_add_is_two_and_half_precision_is_packed(trace: Trace) -> None:
    trace.profile({**CLOCK, **per_cycle("f", 1, 2, 4), **per_cycle("h", 1, 2, 4)})
    assert trace.ask(ASK + " ORDER BY work") == [
        ("fp16", 22e9, None, None),
        ("fp32", 11e9, None, None),
    ]


def test_derived_names_are_multiplied_already(trace: Trace) -> None:
    trace.profile({
        **CLOCK,
        f"derived__smsp__{INST}hadd_pred_on_x2": 2.0,
        f"derived__smsp__{INST}hmul_pred_on_x2": 4.0,
        f"derived__smsp__{INST}hfma_pred_on_x4": 16.0,
        f"derived__sm__{INST}hfma_pred_on_x4": 44.0,
    })  # fmt: skip
    assert trace.ask(ASK) == [("fp16", 22e9, 44e9, "profile")]


def test_counts_over_the_duration(trace: Trace) -> None:
    counts = {f"sm__{INST}d{op}_pred_on.sum": 10.0 for op in ("add", "mul", "fma")}
    trace.profile({**counts, "gpu__time_duration.sum": 4.0})
    assert trace.ask(ASK) == [("fp64", 10e9, None, None)]


def test_part_of_the_instructions_is_no_work(trace: Trace) -> None:
    trace.profile({**CLOCK, f"smsp__{INST}hfma_pred_on.sum.per_cycle_elapsed": 145.0})
    assert trace.ask(ASK) == []


def tensor(per_cycle: float, peak: float | None) -> dict[str, float | None]:
    stem = "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum"
    return {f"{stem}.per_cycle_elapsed": per_cycle, f"{stem}.peak_sustained": peak}


def test_tensor_peak_of_an_h100_is_the_dense_one(trace: Trace) -> None:
    # 132 SMs x 4096 operations a cycle; the data sheet is at 1.83 GHz.
    trace.profile(
        {**tensor(1e3, 540672.0), "sm__cycles_elapsed.avg.per_second": 1.83e9},
        compute_capability="9.0",
    )
    trace.metric("device__attribute_display_name", None, text="NVIDIA H100 80GB HBM3")
    row = trace.only("FROM profiled_work")
    assert row["peak_flops_per_s"] == pytest.approx(989.4e12, rel=1e-4)
    assert row["reference_flops_per_s"] == 989.4e12


def test_without_a_peak_in_the_profile_the_data_sheet_tells_it(trace: Trace) -> None:
    trace.profile({**tensor(1e3, None), **CLOCK})
    trace.metric("device__attribute_display_name", None, text="NVIDIA H100 PCIe")
    assert trace.ask(ASK) == [("tensor bf16", 1e12, 756e12, "data sheet")]


@pytest.mark.parametrize(
    ("capability", "rows"),
    [("7.0", [("tensor fp16", 512e9, None, None)]), ("8.0", []), (None, [])],
)
def test_tensor_instructions_are_512_operations_on_volta_only(
    trace: Trace, capability: str | None, rows: list[tuple[object, ...]]
) -> None:
    counts = {"sm__inst_executed_pipe_tensor.sum": 4.0, "gpu__time_duration.sum": 4.0}
    trace.profile(counts, compute_capability=capability)
    assert trace.ask(ASK) == rows


def test_the_clock_of_another_unit_stands_in(trace: Trace) -> None:
    trace.profile({**per_cycle("f", 1, 0, 0), "gpc__cycles_elapsed.avg.per_second": 3.0})
    assert trace.ask(ASK) == [("fp32", 3, None, None)]
