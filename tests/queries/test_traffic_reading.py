from rows import Trace

SQL = "SELECT path, direction, metric, ts_ns, bytes_per_s, peak_share FROM traffic_reading"


def test_rates_and_shares_by_path_and_direction(trace: Trace) -> None:
    trace.sample("pcie_tx_bytes_per_s", 5e9)
    trace.sample("nvlink_rx_nvml_bytes_per_s", 7e9)
    trace.sample("nvlink_nvml_bytes_per_s", 9e9)
    trace.sample("dram_active_share", 0.5)
    trace.sample("power_w", 700)
    assert trace.ask(f"{SQL} ORDER BY metric") == [
        ("dram", "both", "dram_active_share", 0, None, 0.5),
        ("nvlink", "both", "nvlink_nvml_bytes_per_s", 0, 9e9, None),
        ("nvlink", "rx", "nvlink_rx_nvml_bytes_per_s", 0, 7e9, None),
        ("pcie", "tx", "pcie_tx_bytes_per_s", 0, 5e9, None),
    ]


def test_parts_count_only_all_together(trace: Trace) -> None:
    trace.sample("dram_read_share", 0.25)
    trace.sample("dram_write_share", 0.5)
    trace.sample("dram_read_share", 0.25, ts_ns=9)  # its write was not sampled
    for kind in ("requests", "responses"):
        trace.sample(f"nvlink_tx_{kind}_user_share", 0.25)
        trace.sample(f"nvlink_tx_{kind}_protocol_share", 0.125)
    assert trace.ask(f"{SQL} ORDER BY path") == [
        ("dram", "both", "dram_read_share + dram_write_share", 0, None, 0.75),
        ("nvlink", "tx", "nvlink_tx shares", 0, None, 0.75),
    ]


def test_a_counter_is_its_growth_and_a_reset_is_nothing(trace: Trace) -> None:
    for ts_ns, value in ((0, 100), (1_000_000_000, 600), (2_000_000_000, 50)):
        trace.sample("pcie_rx_bytes", value, ts_ns=ts_ns)
    assert trace.ask(SQL) == [("pcie", "rx", "pcie_rx_bytes", 1_000_000_000, 500.0, None)]


def test_parts_of_a_gpu_are_in_its_own_rows(trace: Trace) -> None:
    trace.sample("nvlink_tx_bytes_per_s", 5e9, entity="link", entity_id="3")
    assert trace.ask(SQL) == []
