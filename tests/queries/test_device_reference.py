import pytest
from bandwidth_rows import H100, profile
from rows import Trace

PEAK = "SELECT gpu, memory_bytes_per_s, memory_source, reason FROM device_reference"


def test_the_trace_counts_before_the_data_sheet(trace: Trace) -> None:
    trace.device(1, name=H100, memory_bandwidth_bytes_per_s=3_352_320_000_000)
    trace.device(2, name=H100)
    assert trace.ask(f"{PEAK} ORDER BY process") == [
        ("H100 SXM5 80 GB", 3_352_320_000_000, "trace", None),
        ("H100 SXM5 80 GB", 3_350_000_000_000, "data sheet", None),
    ]


def test_an_unknown_gpu_has_what_its_trace_says(trace: Trace) -> None:
    trace.device(1, name="NVIDIA H100", memory_bandwidth_bytes_per_s=5)
    trace.device(2)
    assert trace.ask(f"{PEAK} ORDER BY process") == [
        (None, 5, "trace", "no GPU of gpu.csv has exactly this name"),
        (None, None, None, "nothing names the GPU"),
    ]


def test_run_toml_names_a_gpu_that_the_trace_does_not(trace: Trace) -> None:
    trace.description("hardware.gpu", "NVIDIA H200")
    trace.device(1)
    trace.device(2, name=H100)
    rows = trace.ask("SELECT gpu, is_name_described FROM device_reference ORDER BY process")
    assert rows == [("H200 SXM", True), ("H100 SXM5 80 GB", False)]


def test_peak_memory_bandwidth_from_the_attributes_of_a_device(trace: Trace) -> None:
    # A real A100 under ncu: 2 x 1215 MHz x 5120 bits.
    attributes = {
        "device__attribute_memory_clock_rate": 1_215_000,
        "device__attribute_global_memory_bus_width": 5120,
        "device__attribute_multiprocessor_count": 108,
    }
    profile(trace, gpu="NVIDIA A100-SXM4-40GB", metrics=attributes)
    row = trace.only("FROM device_reference")
    assert row["memory_bytes_per_s"] == pytest.approx(1.5552e12)
    assert (row["origin"], row["memory_source"]) == ("ncu", "device attributes")
    assert (row["gpu"], row["traced_sm_count"]) == ("A100 SXM4 40 GB", 108)


def test_a_profile_without_attributes_has_the_name_of_its_session(trace: Trace) -> None:
    profile(trace)
    trace.insert("profiler_session", gpu_name="NVIDIA B200")
    assert trace.ask(PEAK) == [("B200", 7.7e12, "data sheet", None)]
