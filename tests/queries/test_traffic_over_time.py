from bandwidth_rows import H100
from rows import Trace

SQL = """SELECT window_index, start_ns, sample_count, bytes_per_s, highest_bytes_per_s, peak_share
    FROM traffic_over_time"""


def test_equal_windows_over_the_samples(trace: Trace) -> None:
    trace.threshold("activity_window_count", 2)
    trace.insert("device", gpu_id="gpu X", name=H100)
    for ts_ns, rate in ((0, 0), (1, 90e9), (8, 45e9), (9, 45e9)):
        trace.sample("nvlink_tx_bytes_per_s", rate, ts_ns=ts_ns)
    assert trace.ask(SQL) == [
        (0, 0, 2, 45e9, 90e9, 0.1),
        (1, 8, 2, 45e9, 45e9, 0.1),
    ]


def test_rounds_stand_in_for_times(trace: Trace) -> None:
    for tick in (0, 1):
        trace.sample("pcie_tx_bytes_per_s", 1e9 * tick, ts_ns=None, tick=tick)
    assert trace.ask(SQL) == [(0, None, 1, 0, 0, None), (1, None, 1, 1e9, 1e9, None)]


def test_more_than_the_peak_is_no_share(trace: Trace) -> None:
    trace.insert("device", gpu_id="gpu X", name=H100)
    trace.sample("nvlink_tx_bytes_per_s", 900e9)
    assert trace.ask(SQL) == [(0, 0, 1, 900e9, 900e9, None)]
