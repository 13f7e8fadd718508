import pytest
from rows import Trace

ASK = "SELECT work, flop_per_cycle, peak_per_cycle FROM profiled_tensor_work ORDER BY work"


def ops(path: str, per_cycle: float, peak: float | None) -> dict[str, float | None]:
    stem = f"sm__ops_path_tensor_{path}.sum"
    return {f"{stem}.per_cycle_elapsed": per_cycle, f"{stem}.peak_sustained": peak}


def test_the_peak_is_the_dense_one(trace: Trace) -> None:
    off = ops("src_bf16_dst_fp32_sparsity_off", 100.0, 221184.0)
    trace.profile({**off, **ops("src_bf16_dst_fp32_sparsity_on", 7.0, 442368.0)})
    # Sparse work counts as ncu counts it.
    assert trace.ask(ASK) == [("tensor bf16", 107, 221184)]


def test_hopper_by_instruction_and_summed_up(trace: Trace) -> None:
    hgmma = ops("op_hgmma_src_bf16_dst_fp32_sparsity_off", 300.0, 466944.0)
    sparse = ops("op_hgmma_src_bf16_dst_fp32_sparsity_on", 0.0, 933888.0)
    hmma = ops("op_hmma_src_bf16_dst_fp32_sparsity_off", 20.0, 233472.0)
    total = ops("src_bf16_dst_fp32", 320.0, 933888.0)
    trace.profile({**hgmma, **sparse, **hmma, **total}, compute_capability="9.0")
    assert trace.ask(ASK) == [("tensor bf16", 320, 466944)]


@pytest.mark.parametrize(("capability", "peak"), [("9.0", 466944), ("10.0", None), (None, None)])
def test_a_total_alone(trace: Trace, capability: str | None, peak: float | None) -> None:
    trace.profile(ops("src_fp16", 320.0, 933888.0), compute_capability=capability)
    assert trace.ask(ASK) == [("tensor fp16", 320, peak)]


def test_types_without_sparsity(trace: Trace) -> None:
    trace.profile({**ops("src_fp64", 1.0, 13824.0), **ops("src_int1", 2.0, 3538944.0)})
    assert trace.ask(ASK) == [("tensor fp64", 1, 13824), ("tensor int1", 2, 3538944)]


def test_results_of_two_types_add_up(trace: Trace) -> None:
    half = ops("src_fp16_dst_fp16_sparsity_off", 1.0, 8.0)
    trace.profile({**half, **ops("src_fp16_dst_fp32_sparsity_off", 2.0, 8.0)})
    assert trace.ask(ASK) == [("tensor fp16", 3, 8)]


def test_both_pipes_of_blackwell(trace: Trace) -> None:
    new = ops("op_utchmma_src_bf16_dst_fp32_sparsity_off", 4.0, 16.0)
    old = ops("op_hmma_src_bf16_dst_fp32_sparsity_off", 1.0, 4.0)
    mixed = ops("op_utcqmma_src_fp4_fp6_fp8_dst_fp16_sparsity_off", 2.0, 32.0)
    trace.profile({**new, **old, **mixed}, compute_capability="10.0")
    assert trace.ask(ASK) == [("tensor bf16", 5, 16), ("tensor fp4/fp6/fp8", 2, 32)]


def test_counts_and_rates(trace: Trace) -> None:
    stem = "sm__ops_path_tensor_src_int8_sparsity_off"
    trace.profile({
        f"{stem}.sum": 5.0,
        f"{stem}.sum.per_second": 6.0,
        f"{stem}.sum.peak_sustained_elapsed.per_second": 7.0,
        f"{stem}.avg.per_second": 99.0,
    })  # fmt: skip
    ask = "SELECT flop, flops_per_s, peak_flops_per_s FROM profiled_tensor_work"
    assert trace.ask(ask) == [(5, 6, 7)]
