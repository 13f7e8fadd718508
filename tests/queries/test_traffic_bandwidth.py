from bandwidth_rows import H100
from rows import Trace


def test_means_over_a_capture(trace: Trace) -> None:
    trace.insert("device", gpu_id="gpu X", name=H100)
    for ts_ns, rate in ((0, 0), (1_000, 90e9)):
        trace.sample("nvlink_tx_bytes_per_s", rate, ts_ns=ts_ns)
        trace.sample("dram_active_share", rate / 180e9, ts_ns=ts_ns)
    rows = trace.ask(
        "SELECT subject_kind, name, subject_count, dur_ns, bytes_per_s, reference_bytes_per_s, "
        "stated_share, confidence FROM traffic_bandwidth"
    )
    assert rows == [
        ("dram device", "both", 2, 1_000, 837.5e9, 3350e9, 0.25, "low"),
        ("nvlink", "tx", 2, 1_000, 45e9, 450e9, None, "low"),
    ]


def test_two_hosts_with_equal_gpus_are_two(trace: Trace) -> None:
    for host in ("a", "b", None):
        trace.sample("pcie_tx_bytes_per_s", 5e9, host=host)
    rows = trace.ask("SELECT subject_id, host, bytes_per_s FROM traffic_bandwidth")
    assert rows == [(1, "a", 5e9), (2, "b", 5e9), (3, None, 5e9)]


def test_a_share_without_a_peak_stays_a_share(trace: Trace) -> None:
    trace.sample("pcie_tx_share", 0.25)
    row = trace.only("FROM traffic_bandwidth")
    assert (row["bytes_per_s"], row["stated_share"]) == (None, 0.25)
    assert row["reason"] == "no peak: PCIe generation and width of the link are not known"
