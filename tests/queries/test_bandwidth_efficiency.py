from typing import Any

import pytest
from bandwidth_rows import H100, benchmark, profile
from rows import Trace

OWN = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"


def only(trace: Trace) -> dict[str, Any]:
    return trace.only("FROM bandwidth_efficiency")


def a100(trace: Trace, bytes_per_s: float, own: float | None = None) -> None:
    metrics = {
        "dram__bytes.sum.peak_sustained": 1280,
        "dram__cycles_elapsed.avg.per_second": 1.21e9,  # the details page prints so few digits
        "dram__bytes.sum.per_second": bytes_per_s,
        "gpu__time_duration.sum": 437_440,
    }
    profile(trace, metrics={**metrics, **({OWN: own} if own else {})})


def test_ncu_s_own_share_where_rates_are_printed_short(trace: Trace) -> None:
    a100(trace, 1.2e12, 77.06)
    row = only(trace)
    assert row["efficiency_share"] == pytest.approx(0.7706)
    assert (row["subject_kind"], row["verdict"]) == ("dram kernel", "fair")


def test_the_share_of_its_bytes_where_ncu_means_another_one(trace: Trace) -> None:
    a100(trace, 0.7744e12, 77.06)
    assert only(trace)["efficiency_share"] == pytest.approx(0.5)


def test_more_than_the_peak_is_refused(trace: Trace) -> None:
    a100(trace, 1.7e12)
    row = only(trace)
    assert (row["efficiency_share"], row["confidence"]) == (None, None)
    assert row["verdict"] == "impossible" and "cache hits" in row["reason"]
    assert row["bytes_per_s"] == 1.7e12


def test_rounding_of_the_peak_is_not_impossible(trace: Trace) -> None:
    a100(trace, 1.56e12)
    assert only(trace)["verdict"] == "high"


def test_an_unknown_link_has_candidates_and_no_verdict(trace: Trace) -> None:
    memory = {"source_memory": "pinned", "destination_memory": "device"}
    trace.copy(0, 1_000_000, bytes=27_660_000, **memory)
    row = only(trace)
    assert (row["efficiency_share"], row["verdict"]) == (None, "unknown")
    assert "PCIe 4.0" in row["candidates"] and "PCIe 5.0" in row["candidates"]


def test_small_copies_are_latency(trace: Trace) -> None:
    trace.copy(0, 10, bytes=100)
    row = only(trace)
    assert (row["efficiency_share"], row["verdict"]) == (None, "latency")


def test_a_low_link(trace: Trace) -> None:
    trace.description("hardware.interconnect", "HDR")
    for number, speed in enumerate((10, 24)):
        trace.insert(
            "link_benchmark",
            tool="perftest",
            status="measured",
            kind="bandwidth",
            size_bytes=1 << 20,
            bandwidth_bytes_per_s=speed * 1e9,
            table_number=number,
        )
    rows = trace.ask("SELECT efficiency_share, verdict FROM bandwidth_efficiency")
    assert rows == [(0.4, "low"), (0.96, "high")]


def test_averages_over_time_are_not_judged(trace: Trace) -> None:
    trace.insert("device", gpu_id="gpu X", name=H100)
    trace.sample("nvlink_tx_bytes_per_s", 45e9)
    row = only(trace)
    assert (row["efficiency_share"], row["verdict"]) == (0.1, "average")


def test_more_than_a_nominal_link_may_be_nvls(trace: Trace) -> None:
    benchmark(trace, "log", {1 << 30: 480})
    row = only(trace)
    assert (row["efficiency_share"], row["verdict"]) == (None, "impossible")
    assert "NVLS" in row["reason"]


def test_every_subject_has_the_columns_of_the_others(trace: Trace) -> None:
    views = [
        "dram_kernel", "traffic", "copy", "collective", "collective_benchmark", "link_benchmark",
    ]  # fmt: skip
    columns = {view: [row[:2] for row in trace.ask(f"DESCRIBE {view}_bandwidth")] for view in views}
    for view in views:
        assert columns[view] == columns["copy"], view


def test_several_runs_keep_apart(trace: Trace) -> None:
    for run_id in ("one", "two"):
        trace.insert("device", run_id=run_id, gpu_id="gpu X", name=H100)
        trace.sample("dram_active_share", 0.5, run_id=run_id)
    rows = trace.ask("SELECT run_id, subject_id, efficiency_share FROM bandwidth_efficiency")
    assert rows == [("one", 1, 0.5), ("two", 1, 0.5)]
