import pytest
from bandwidth_rows import profile
from rows import Trace

# A real A100 (details and raw page of one kernel): 1280 bytes per cycle at 1.2149 GHz.
PEAK = {
    "dram__bytes.sum.peak_sustained": 1280,
    "dram__cycles_elapsed.avg.per_second": 1_214_917_337,
    "gpu__time_duration.sum": 437_440,
}
OWN = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"


def test_the_peak_of_an_a100_from_its_metrics(trace: Trace) -> None:
    profile(trace, metrics={**PEAK, "dram__bytes.sum.per_second": 1.198317e12, OWN: 77.06})
    row = trace.only("FROM dram_kernel_bandwidth")
    assert row["reference_bytes_per_s"] == pytest.approx(1555.1e9, rel=1e-4)
    assert row["bytes_per_s"] / row["reference_bytes_per_s"] == pytest.approx(0.7706, abs=5e-5)
    assert row["stated_share"] == pytest.approx(0.7706)
    assert (row["confidence"], row["reason"]) == ("high", None)


def test_a_data_sheet_gives_way_to_the_share_that_ncu_prints(trace: Trace) -> None:
    # The details page has no peak: 4.917 TB/s by ncu, 4.8 by the data sheet.
    profile(trace, metrics={"dram__bytes.sum.per_second": 3.9336e12, OWN: 80}, gpu="NVIDIA H200")
    row = trace.only("FROM dram_kernel_bandwidth")
    assert row["reference_bytes_per_s"] == pytest.approx(4.917e12)
    assert row["reference_source"] == "ncu: its own DRAM share"
    share = trace.only("FROM bandwidth_efficiency")["efficiency_share"]
    assert share == pytest.approx(0.8, abs=5e-5)


def test_a_rounded_share_of_almost_nothing_is_no_peak(trace: Trace) -> None:
    profile(trace, metrics={"dram__bytes.sum.per_second": 2.46e9, OWN: 0.05}, gpu="NVIDIA H200")
    assert trace.only("FROM dram_kernel_bandwidth")["reference_source"] == "data sheet: H200 SXM"


def test_reads_and_writes_over_the_duration_where_no_rate_is_printed(trace: Trace) -> None:
    both = {"dram__bytes_read.sum": 600_000, "dram__bytes_write.sum": 400_000}
    profile(trace, metrics={**both, "gpu__time_duration.sum": 50_000}, gpu="NVIDIA B200")
    row = trace.only("FROM dram_kernel_bandwidth")
    assert (row["bytes"], row["bytes_per_s"]) == (1_000_000, 20e9)
    assert row["reference_source"] == "data sheet: B200"


def test_only_reads_are_not_all_bytes(trace: Trace) -> None:
    profile(trace, metrics={**PEAK, "dram__bytes_read.sum": 600_000, OWN: 5})
    row = trace.only("FROM dram_kernel_bandwidth")
    assert (row["bytes"], row["bytes_per_s"], row["stated_share"]) == (None, None, 0.05)
    assert "no DRAM bytes" in row["reason"]


def test_an_unknown_gpu_has_no_peak(trace: Trace) -> None:
    profile(trace, metrics={"dram__bytes.sum": 100, "gpu__time_duration.sum": 10})
    row = trace.only("FROM dram_kernel_bandwidth")
    assert (row["bytes_per_s"], row["reference_bytes_per_s"]) == (10e9, None)
    assert (row["confidence"], row["reason"]) == ("low", "no peak: nothing names the GPU")


def test_kernels_without_metrics_of_memory_are_no_rows(trace: Trace) -> None:
    profile(trace, metrics={"gpu__time_duration.sum": 10})
    assert trace.ask("FROM dram_kernel_bandwidth") == []


def test_a_duration_of_zero_gives_no_rate(trace: Trace) -> None:
    profile(trace, metrics={"dram__bytes.sum": 100, "gpu__time_duration.sum": 0})
    row = trace.only("FROM dram_kernel_bandwidth")
    assert (row["bytes_per_s"], row["reason"]) == (
        None,
        "the profile holds DRAM bytes but no duration",
    )
