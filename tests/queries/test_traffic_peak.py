from bandwidth_rows import H100
from rows import Trace

SQL = "SELECT path, direction, peak_bytes_per_s, peak_source, reason FROM traffic_peak"


def test_peaks_of_a_gpu_that_is_named(trace: Trace) -> None:
    trace.insert("device", gpu_id="gpu X", name=H100)
    trace.sample("dram_active_share", 0.5)
    trace.sample("nvlink_tx_bytes_per_s", 1)
    trace.sample("nvlink_nvml_bytes_per_s", 1)  # both directions together
    assert trace.ask(f"{SQL} ORDER BY ALL") == [
        ("dram", "both", 3350e9, "data sheet: H100 SXM5 80 GB", None),
        ("nvlink", "both", 900e9, "data sheet: H100 SXM5 80 GB", None),
        ("nvlink", "tx", 450e9, "data sheet: H100 SXM5 80 GB", None),
    ]


def test_run_toml_names_the_gpu_of_telemetry_that_does_not(trace: Trace) -> None:
    trace.description("hardware.gpu", "NVIDIA A100-SXM4-40GB")
    trace.sample("dram_active_share", 0.5)
    assert trace.ask(SQL) == [("dram", "both", 1555e9, "data sheet: A100 SXM4 40 GB", None)]


def test_pcie_by_the_link_that_telemetry_tells(trace: Trace) -> None:
    trace.sample("pcie_tx_bytes_per_s", 1)
    for source_id in ("a", "smi"):  # nvidia-smi beside dcgmi
        trace.sample("pcie_link_gen", 4, source_id=source_id)
        trace.sample("pcie_link_width", 16, source_id=source_id)
    assert trace.ask(SQL) == [("pcie", "tx", 31.508e9, "telemetry: PCIe 4.0 x16", None)]


def test_what_is_not_known_says_why(trace: Trace) -> None:
    trace.sample("dram_active_share", 0.5)
    trace.sample("pcie_tx_bytes_per_s", 1)
    trace.insert("device", gpu_id="gpu Y", name="NVIDIA GeForce RTX 4090")
    trace.sample("nvlink_tx_bytes_per_s", 1, gpu_id="gpu Y")
    assert trace.ask(f"SELECT path, reason, peak_bytes_per_s FROM ({SQL}) ORDER BY ALL") == [
        ("dram", "nothing names the GPU", None),
        ("nvlink", "the data sheet gives none", None),
        ("pcie", "PCIe generation and width of the link are not known", None),
    ]
