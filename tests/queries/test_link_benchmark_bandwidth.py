from typing import Any

from rows import Trace

MB = 1_000_000


def measured(trace: Trace, speed: float, **more: Any) -> dict[str, Any]:
    row = {"tool": "perftest", "test": "ib_write_bw", "status": "measured", "kind": "bandwidth"}
    row |= {"size_bytes": 8 * MB, "link_layer": "IB", "is_bidirectional": False, "table_number": 0}
    trace.insert("link_benchmark", bandwidth_bytes_per_s=speed * 1e9, **{**row, **more})
    return trace.only("FROM link_benchmark_bandwidth")


def test_an_adapter_that_run_toml_names(trace: Trace) -> None:
    trace.description("hardware.interconnect", "NDR")
    row = measured(trace, 40)
    assert (row["reference_bytes_per_s"], row["candidates"]) == (50e9, None)
    assert row["reference_source"] == "nominal: InfiniBand NDR"


def test_both_directions_have_twice_the_rate(trace: Trace) -> None:
    trace.description("hardware.interconnect", "NDR")
    assert measured(trace, 80, is_bidirectional=True)["reference_bytes_per_s"] == 100e9


def test_an_unknown_adapter_has_candidates(trace: Trace) -> None:
    row = measured(trace, 24.4)
    assert row["reference_bytes_per_s"] is None
    assert [part.split(":")[0] for part in row["candidates"].split("; ")] == [
        "InfiniBand HDR", "InfiniBand NDR200", "InfiniBand NDR",
    ]  # fmt: skip
    assert row["reason"] == "the rate of the adapter is not known"


def test_small_messages_are_latency(trace: Trace) -> None:
    trace.description("hardware.interconnect", "NDR")
    row = measured(trace, 0.1, size_bytes=2)
    assert (row["reason"], row["candidates"]) == ("small message: its latency limits it", None)


def test_host_to_device_may_be_of_any_generation(trace: Trace) -> None:
    more = {"tool": "nvbandwidth", "test": "host_to_device_memcpy_ce", "size_bytes": None}
    row = measured(trace, 26.19, link_layer=None, **more)
    assert row["candidates"].startswith("PCIe 4.0 x16: 0.8312 of 31.5 GB/s; PCIe 5.0 x16: 0.4156")


def test_device_to_device_by_the_gpu_that_run_toml_names(trace: Trace) -> None:
    more = {"tool": "nvbandwidth", "test": "device_to_device_memcpy_write_ce", "size_bytes": None}
    row = measured(trace, 276.76, link_layer=None, **more)
    assert (row["reference_bytes_per_s"], row["candidates"]) == (None, None)
    trace.description("hardware.gpu", "NVIDIA A100-SXM4-80GB")
    row = trace.only("FROM link_benchmark_bandwidth")
    assert (row["reference_bytes_per_s"], row["confidence"]) == (300e9, "medium")


def test_cards_may_have_a_bridge_or_only_pcie(trace: Trace) -> None:
    trace.description("hardware.gpu", "NVIDIA A100 80GB PCIe")
    more = {"tool": "nvbandwidth", "test": "device_to_device_memcpy_write_ce", "size_bytes": None}
    row = measured(trace, 25, link_layer=None, **more)
    assert (row["reference_bytes_per_s"], row["reason"]) == (
        None,
        "the link between the GPUs is not known",
    )
    assert [part.split(":")[0] for part in row["candidates"].split("; ")] == [
        "PCIe 4.0 x16", "PCIe 5.0 x16", "NVLink of A100 PCIe 80 GB",
    ]  # fmt: skip


def test_latencies_are_no_bandwidth(trace: Trace) -> None:
    measured(trace, 40)
    trace.insert(
        "link_benchmark", tool="perftest", status="measured", kind="latency", table_number=1
    )
    assert len(trace.ask("FROM link_benchmark_bandwidth")) == 1
