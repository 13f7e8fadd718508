import pytest
from bandwidth_rows import H100
from rows import Trace

PINNED = {"kind": "HtoD", "source_memory": "pinned", "destination_memory": "device"}
UUID = "aaaaaaaa-0000-0000-0000-000000000000"


def link(trace: Trace, **more: object) -> None:
    for metric, value in (("max_pcie_link_gen", 4), ("max_pcie_link_width", 16)):
        trace.sample(metric, value, **more)


def test_an_unknown_link_shows_both_candidates(trace: Trace) -> None:
    trace.copy(0, 1_000_000, bytes=27_660_000, **PINNED)  # 27.66 GB/s
    row = trace.only("FROM copy_bandwidth")
    assert (row["bytes_per_s"], row["reference_bytes_per_s"]) == (27.66e9, None)
    assert row["candidates"] == (
        "PCIe 4.0 x16: 0.8779 of 31.5 GB/s; PCIe 5.0 x16: 0.4389 of 63.0 GB/s"
    )
    assert row["reason"] == "PCIe generation and width of the link are not known"


def test_the_gpu_s_own_generation_is_a_candidate_too(trace: Trace) -> None:
    trace.device(name=H100)
    trace.copy(0, 1_000_000, bytes=12_000_000, **PINNED)
    row = trace.only("FROM copy_bandwidth")
    assert [part.split(":")[0] for part in row["candidates"].split("; ")] == [
        "PCIe 3.0 x16", "PCIe 4.0 x16", "PCIe 5.0 x16",
    ]  # fmt: skip
    assert row["reason"].endswith("; the GPU itself has 5.0")


def test_faster_than_the_gpu_can_be(trace: Trace) -> None:
    trace.device(name="NVIDIA A100-SXM4-40GB")
    trace.copy(0, 1_000_000, bytes=46_000_000, **PINNED)
    reason = trace.only("FROM copy_bandwidth")["reason"]
    assert reason == "faster than PCIe 4.0 x16, the most that the GPU itself has"


def test_telemetry_of_the_same_gpu_tells_the_link(trace: Trace) -> None:
    trace.device(uuid=UUID)
    link(trace, gpu_id=UUID, source_id="smi")
    trace.copy(0, 1_000_000, bytes=15_754_000, **PINNED)
    row = trace.only("FROM copy_bandwidth")
    assert (row["reference_bytes_per_s"], row["candidates"]) == (31.508e9, None)
    assert row["reference_source"] == "telemetry: PCIe 4.0 x16"


def test_a_bus_id_is_the_same_gpu_on_the_same_host_only(trace: Trace) -> None:
    trace.device(bus_id="0000:03:00.0")
    link(trace, gpu_id="0000:03:00.0", source_id="smi", host="other")
    trace.copy(0, 1_000_000, bytes=15_754_000, **PINNED)
    assert trace.only("FROM copy_bandwidth")["reference_bytes_per_s"] is None
    link(trace, gpu_id="0000:03:00.0", source_id="smi", host="node")
    assert trace.only("FROM copy_bandwidth")["reference_bytes_per_s"] == 31.508e9


def test_small_copies_are_a_row_of_their_own(trace: Trace) -> None:
    trace.copy(0, 1_000_000, bytes=20_000_000, **PINNED)
    trace.copy(0, 5_000, bytes=5_000, **PINNED)
    rows = trace.ask("SELECT conditions, bytes, reason FROM copy_bandwidth")
    assert [row[:2] for row in rows] == [("large", 20_000_000), ("small", 5_000)]
    assert "latency" in rows[1][2]


def test_within_a_device_each_byte_is_read_and_written(trace: Trace) -> None:
    trace.device(memory_bandwidth_bytes_per_s=1_555_200_000_000)
    trace.copy(0, 1_000_000, bytes=500_000_000, kind="DtoD")
    row = trace.only("FROM copy_bandwidth")
    assert (row["bytes"], row["bytes_per_s"]) == (1_000_000_000, 1e12)
    assert (row["reference_bytes_per_s"], row["reference_source"]) == (
        1.5552e12,
        "trace: the device says it",
    )


def test_copies_that_took_no_time_or_have_no_known_path(trace: Trace) -> None:
    trace.copy(5, 5, bytes=2_000_000, **PINNED)
    trace.copy(0, 10, bytes=2_000_000, kind="HtoA")
    rows = trace.ask("SELECT bytes_per_s, reference_bytes_per_s, reason FROM copy_bandwidth")
    assert rows == [
        (2e14, None, "the path of this kind of copy is not known"),
        (None, None, "the copies took no time"),
    ]


def test_between_gpus_it_is_nvlink_or_pcie(trace: Trace) -> None:
    trace.device(name=H100)
    trace.copy(0, 1_000_000, bytes=45_000_000, kind="PtoP")  # 45 GB/s
    row = trace.only("FROM copy_bandwidth")
    assert (row["reference_bytes_per_s"], row["candidates"]) == (
        None,
        "PCIe 5.0 x16: 0.7141 of 63.0 GB/s; NVLink of H100 SXM5 80 GB: 0.1000 of 450.0 GB/s",
    )
    assert row["reason"] == "whether it went by NVLink or PCIe is not known"


@pytest.mark.parametrize(
    ("gpu", "speed", "candidates", "reason"),
    [
        (H100, 300, ["NVLink of H100 SXM5 80 GB"], "whether it went by NVLink or PCIe"),
        (H100, 500, [], "faster than NVLink and PCIe of H100 SXM5 80 GB"),
        ("NVIDIA L40S", 20, ["PCIe 4.0 x16", "PCIe 5.0 x16"], "PCIe generation and width"),
        ("NVIDIA L40S", 40, ["PCIe 5.0 x16"], "faster than PCIe 4.0 x16"),
        (None, 20, ["PCIe 4.0 x16", "PCIe 5.0 x16"], "whether it went by NVLink or PCIe is not"),
    ],
)
def test_what_a_copy_between_gpus_can_have_gone_by(
    trace: Trace, gpu: str | None, speed: int, candidates: list[str], reason: str
) -> None:
    trace.device(name=gpu)
    trace.copy(0, 1_000_000, bytes=speed * 1_000_000, kind="PtoP")
    row = trace.only("FROM copy_bandwidth")
    listed = [part.split(":")[0] for part in (row["candidates"] or "").split("; ") if part]
    assert (row["reference_bytes_per_s"], listed) == (None, candidates)
    assert row["reason"].startswith(reason)


def test_without_nvlink_the_pcie_link_of_telemetry_is_the_path(trace: Trace) -> None:
    trace.device(name="NVIDIA L40S", uuid=UUID)
    link(trace, gpu_id=UUID, source_id="smi")
    trace.copy(0, 1_000_000, bytes=15_754_000, kind="PtoP")
    row = trace.only("FROM copy_bandwidth")
    assert (row["reference_bytes_per_s"], row["reason"]) == (31.508e9, None)


def test_dtod_between_two_devices_is_no_copy_within_one(trace: Trace) -> None:
    trace.device(name=H100, memory_bandwidth_bytes_per_s=1_000_000_000_000)
    more = {"source_device_id": 0, "destination_device_id": 1}
    trace.copy(0, 1_000_000, bytes=45_000_000, kind="DtoD", **more)
    row = trace.only("FROM copy_bandwidth")
    assert (row["name"], row["bytes"]) == ("PtoP unknown to unknown", 45_000_000)
    assert row["reference_bytes_per_s"] is None
