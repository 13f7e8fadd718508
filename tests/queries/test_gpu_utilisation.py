from pytest import approx
from rows import Trace


def used(trace: Trace, columns: str) -> dict[str, tuple[object, ...]]:
    rows = trace.ask(f"SELECT metric, {columns} FROM gpu_utilisation")
    return {metric: tuple(row) for metric, *row in rows}


def test_a_distribution(trace: Trace) -> None:
    trace.rounds(sm_active_share=[0.1, 0.2, 0.3, 0.4, 0.5])
    columns = "sample_count, coverage_share, mean_value, median_value, max_value, reason"
    assert used(trace, columns) == {
        "sm_active_share": (5, 1.0, approx(0.3), 0.3, 0.5, None),
    }


def test_counters_stuck_at_zero(trace: Trace) -> None:
    trace.rounds(
        gpu_util_share=[1, 1, 1], sm_active_share=0, tensor_active_share=0, dram_active_share=0
    )
    found = used(trace, "sample_count, mean_value, left_out_count, reason")
    why = "counters stuck: profiling counters read 0 in 3 samples with GPU-Util full"
    assert found["sm_active_share"] == found["tensor_active_share"] == (0, None, 3, why)
    assert found["gpu_util_share"] == (3, 1.0, 0, None)


def test_stuck_for_a_while_only(trace: Trace) -> None:
    trace.rounds(gpu_util_share=[1] * 10, sm_active_share=[0.8] * 9 + [0])
    found = used(trace, "sample_count, mean_value, coverage_share, left_out_count")
    assert found["sm_active_share"] == (9, approx(0.8), 0.9, 1)


def test_no_tensor_work_is_not_stuck(trace: Trace) -> None:
    trace.rounds(gpu_util_share=[1, 1], sm_active_share=0.9, tensor_active_share=0)
    assert used(trace, "mean_value, reason")["tensor_active_share"] == (0, None)


def test_an_idle_gpu_is_not_stuck(trace: Trace) -> None:
    trace.rounds(gpu_util_share=[0, 0.5], sm_active_share=0)
    assert used(trace, "mean_value, reason")["sm_active_share"] == (0, None)


def test_more_than_everything_cannot_be(trace: Trace) -> None:
    trace.rounds(dram_active_share=[0.5, 0.5, 0.5, 0.5, 1.5])
    assert used(trace, "mean_value, reason") == {
        "dram_active_share": (0.5, "out of range: 1 samples")
    }


def test_counters_that_another_profiler_holds(trace: Trace) -> None:
    trace.rounds(gpu_util_share=[1] * 10, sm_active_share=[0.8] * 4 + [None] * 6)
    count, reason = used(trace, "sample_count, reason")["sm_active_share"]
    assert count == 4 and "another profiler may have held" in str(reason)


def test_rates_of_links(trace: Trace) -> None:
    trace.rounds(nvlink_tx_bytes_per_s=[1e11, 3e11])
    assert used(trace, "mean_value, reason") == {"nvlink_tx_bytes_per_s": (2e11, None)}
