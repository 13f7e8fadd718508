import csv

import pytest
from rows import Trace

from pipeline import catalog

NAMES = {
    "NVIDIA H100 80GB HBM3": "H100 SXM5 80 GB",
    "NVIDIA H100 PCIe": "H100 PCIe 80 GB",
    "NVIDIA H100 NVL": "H100 NVL",
    "NVIDIA A100-SXM4-40GB": "A100 SXM4 40 GB",
    "A100-SXM4-40GB": "A100 SXM4 40 GB",  # drivers before 460
    "NVIDIA A100 80GB PCIe": "A100 PCIe 80 GB",
    "NVIDIA A100-PCIE-40GB": "A100 PCIe 40 GB",
    "Tesla V100-SXM2-16GB": "V100 SXM2 16 GB",
    "NVIDIA GH200 480GB": "GH200 96 GB",
    "NVIDIA GH200 144G HBM3e": "GH200 144 GB",
    "NVIDIA H200": "H200 SXM",
    "NVIDIA H200 NVL": "H200 NVL",
    "NVIDIA H20": "H20",
    "NVIDIA H20-3e": "H20 141 GB",
    "NVIDIA H800": "H800 SXM5",
    "NVIDIA B200": "B200",
    "NVIDIA GB200": "GB200",
    "NVIDIA A10": "A10",
    "NVIDIA A10G": "A10G",
    "NVIDIA L40": "L40",
    "NVIDIA L40S": "L40S",
    "NVIDIA L4": "L4",
}
UNKNOWN = [
    "H100", "NVIDIA H100", "NVIDIA Graphics Device", "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "NVIDIA A100", "A100", "NVIDIA GeForce RTX 3090 Ti", "AMD Radeon Graphics", "",
]  # fmt: skip


@pytest.mark.parametrize(("name", "gpu"), NAMES.items())
def test_an_exact_name_is_one_gpu(trace: Trace, name: str, gpu: str) -> None:
    trace.device(name=name)
    assert trace.ask("FROM gpu_name") == [(name, gpu, None)]


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_name_that_leaves_something_open_is_none(trace: Trace, name: str) -> None:
    trace.device(name=name)
    ((_, gpu, reason),) = trace.ask("FROM gpu_name")
    assert gpu is None and reason


def test_a_mig_instance_says_so(trace: Trace) -> None:
    trace.device(name="NVIDIA A30 MIG 2g.12gb")
    assert "MIG" in trace.only("FROM gpu_name")["reason"]


def test_names_are_found_wherever_a_file_gives_one(trace: Trace) -> None:
    trace.description("hardware.gpu", "H200 SXM")  # as gpu.csv calls it
    trace.insert("profiler_session", gpu_name="NVIDIA B200")
    trace.device(name=None)
    rows = trace.ask("SELECT gpu_name, gpu FROM gpu_name ORDER BY ALL")
    assert rows == [("H200 SXM", "H200 SXM"), ("NVIDIA B200", "B200")]


def test_figures_of_a_gpu_fit_each_other() -> None:
    with catalog.reference()["gpu"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["gpu"] for row in rows}) == len({row["pattern"] for row in rows}) == len(rows)
    for row in rows:
        assert row["source"] and row["tdp_w"] and row["memory_bytes"], row["gpu"]
        fp16, fp8 = row["fp16_tensor_flops_per_s"], row["fp8_tensor_flops_per_s"]
        if fp16 and row["bf16_tensor_flops_per_s"]:
            assert fp16 == row["bf16_tensor_flops_per_s"], row["gpu"]
        if fp16 and fp8:  # twice the rate at half the width, both dense
            assert float(fp8) / float(fp16) == pytest.approx(2, rel=0.03), row["gpu"]
        # All links of a data-centre GPU: 6 of V100, 12 of A100, 18 of H100 and later.
        rates = {"2": 25e9, "3": 25e9, "4": 25e9, "5": 50e9}
        if row["nvlink_bytes_per_s"] and row["form_factor"].startswith("SXM"):
            links = float(row["nvlink_bytes_per_s"]) / rates[row["nvlink_generation"]]
            assert links in (6, 8, 12, 18), row["gpu"]


def test_dense_peaks_and_memory_as_the_data_sheets_say(trace: Trace) -> None:
    sql = "SELECT fp16_tensor_flops_per_s, memory_bytes_per_s, nvlink_bytes_per_s, tdp_w FROM gpu"
    peaks = {"H100 SXM5 80 GB": (989.4, 3350, 450, 700), "A100 SXM4 40 GB": (312, 1555, 300, 400)}
    peaks |= {"B200": (2250, 7700, 900, 1000), "V100 SXM2 16 GB": (125, 900, 150, 300)}
    for gpu, (tflops, memory, nvlink, tdp_w) in peaks.items():
        expected = (tflops * 1e12, memory * 1e9, nvlink * 1e9, tdp_w)
        assert trace.ask(f"{sql} WHERE gpu = '{gpu}'") == [pytest.approx(expected)]
