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
    "NVIDIA A2": "A2",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX PRO 6000 Blackwell Server Edition",
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


# FLOP of one SM per clock, dense: FP16 on tensor cores, FP32. CUDA's programming guide and the
# architectures' white papers. Some cards run at half of the former, H20 at a quarter.
DENSE_OF_AN_SM = {
    "7.0": (1024, 128), "7.5": (1024, 128), "8.0": (2048, 128), "8.6": (1024, 256),
    "8.9": (1024, 256), "9.0": (4096, 256), "10.0": (8192, 256), "12.0": (1024, 256),
}  # fmt: skip


def test_peaks_are_dense_and_of_their_type() -> None:
    with catalog.reference()["gpu"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        gpu = row["gpu"]
        peaks = {name: float(peak) for name, peak in row.items() if "s_per_s" in name and peak}
        fp16, fp8 = peaks["fp16_tensor_flops_per_s"], peaks.get("fp8_tensor_flops_per_s")
        if tf32 := peaks.get("tf32_tensor_flops_per_s"):
            assert fp16 / tf32 == pytest.approx(2, rel=0.03), gpu
        if int8 := peaks.get("int8_tensor_ops_per_s"):  # GeForce halves what adds up in FP32
            assert int8 / fp16 == pytest.approx(4 if "GeForce" in gpu else 2, rel=0.03), gpu
        if fp8 and (fp4 := peaks.get("fp4_tensor_flops_per_s")):
            ways = 3 if row["compute_capability"] == "10.3" else 4 if "GeForce" in gpu else 2
            assert fp4 / fp8 == pytest.approx(ways, rel=0.01), gpu
        if not (row["sm_count"] and row["clock_hz"]):
            continue
        clocks = int(row["sm_count"]) * float(row["clock_hz"])
        tensor, plain = DENSE_OF_AN_SM[row["compute_capability"]]
        # What is sparse would be twice this. Tensor clocks of H100 and B200 are the lower ones.
        assert fp16 / clocks / tensor < 1.01, gpu
        assert fp16 / clocks / tensor > 0.9 or fp16 / clocks / tensor < 0.51, gpu
        if "H20" not in gpu.split():
            assert peaks["fp32_flops_per_s"] / clocks / plain == pytest.approx(1, rel=0.01), gpu


def test_pcie_is_what_its_lanes_carry_one_way(trace: Trace) -> None:
    lanes = "SELECT generation, width, bytes_per_s FROM link_speed WHERE link = 'pcie'"
    payload = {1: (2.5, 8 / 10), 2: (5, 8 / 10), 6: (64, 242 / 256)}
    for generation, width, bytes_per_s in trace.ask(lanes):
        transfers, share = payload.get(generation, (2**generation, 128 / 130))
        expected = transfers * 1e9 * share * width / 8
        assert bytes_per_s == pytest.approx(expected, rel=1e-3), (generation, width)
