import pytest
from rows import Trace

A100 = {  # a published report
    "dram__bytes.sum.per_second": 1.1983e12,
    "dram__bytes.sum.peak_sustained": 1280.0,
    "dram__cycles_elapsed.avg.per_second": 1.21494e9,
}
ASK = "SELECT level, bytes_per_s, peak_bytes_per_s, peak_bytes_source FROM profiled_traffic"
LSU = "derived__l1tex__lsu_writeback_bytes_mem_lg.sum"


def test_peak_of_an_a100(trace: Trace) -> None:
    trace.profile(dict(A100))
    (row,) = trace.ask(ASK)
    assert row == ("DRAM", 1.1983e12, pytest.approx(1555.1e9, rel=1e-4), "profile")
    assert row[1] / row[2] == pytest.approx(0.7706, abs=1e-4)  # ncu prints 77.06 %


@pytest.mark.parametrize(
    ("bytes_per_cycle", "clock_hz", "peak"),
    [(2560.0, 1.5707e9, 4021.2e9), (1280.0, 1.5928e9, 2038.8e9)],  # GH200, H100 PCIe
)
def test_peaks_of_hopper(
    trace: Trace, bytes_per_cycle: float, clock_hz: float, peak: float
) -> None:
    own = {"dram__bytes.sum.peak_sustained": bytes_per_cycle}
    trace.profile({**A100, **own, "dram__cycles_elapsed.avg.per_second": clock_hz})
    assert trace.ask(ASK)[0][2] == pytest.approx(peak, rel=1e-3)


def test_without_peak_metrics_clock_and_width_tell_it(trace: Trace) -> None:
    # 2 x 1215 MHz x 5120 bit.
    width, clock = "global_memory_bus_width", "memory_clock_rate"
    attributes = {f"device__attribute_{clock}": 1.215e6, f"device__attribute_{width}": 5120.0}
    trace.profile({"dram__bytes.sum.per_second": 1.0, **attributes})
    assert trace.ask(ASK) == [("DRAM", 1, 1555.2e9, "device attributes")]


def test_then_the_data_sheet(trace: Trace) -> None:
    trace.profile({"dram__bytes.sum.per_second": 1.0})
    assert trace.ask(ASK) == [("DRAM", 1, None, None)]
    trace.metric("device__attribute_display_name", None, text="NVIDIA A100-SXM4-40GB")
    assert trace.ask(ASK) == [("DRAM", 1, 1555e9, "data sheet")]


@pytest.mark.parametrize(
    "metrics",
    [
        {"dram__bytes.sum": 4000.0, "gpu__time_duration.sum": 2.0},
        {"dram__bytes_read.sum": 3e3, "dram__bytes_write.sum": 1e3, "gpu__time_duration.sum": 2.0},
        {"dram__bytes_read.sum.per_second": 5e11, "dram__bytes_write.sum.per_second": 15e11},
    ],
)
def test_bytes_and_a_duration_are_a_rate(trace: Trace, metrics: dict[str, float]) -> None:
    trace.profile(dict(metrics))
    assert trace.ask(ASK)[0][:2] == ("DRAM", 2e12)


def test_half_of_the_bytes_is_no_traffic(trace: Trace) -> None:
    trace.profile({"dram__bytes_read.sum": 3e3, "gpu__time_duration.sum": 2.0})
    assert trace.ask(ASK) == []


def test_a_duration_of_zero_is_no_rate(trace: Trace) -> None:
    trace.profile({"dram__bytes.sum": 4000.0, "gpu__time_duration.sum": 0.0})
    assert trace.ask(ASK) == []


@pytest.mark.parametrize(
    ("metrics", "row"),
    [
        (
            {"derived__lts__lts2xbar_bytes.sum.per_second": 5.0,
             "derived__lts__lts2xbar_bytes.sum.peak_sustained": 5120.0,
             "lts__cycles_elapsed.avg.per_second": 1e9},
            ("L2", 5, 5120e9, "profile"),
        ),
        (
            {"lts__lts2xbar_cycles_active.sum.per_second": 2.0,
             "lts__lts2xbar_cycles_active.sum.peak_sustained": 160.0,
             "lts__cycles_elapsed.avg.per_second": 1e9},
            ("L2", 64, 5120e9, "profile"),
        ),
        (
            {"lts__t_bytes.sum": 6.0, "gpu__time_duration.sum": 1e9}, ("L2", 6, None, None),
        ),
        (
            {f"{LSU}.per_second": 5.0, f"{LSU}.peak_sustained": 13824.0,
             "l1tex__cycles_elapsed.avg.per_second": 1e9},
            ("L1", 5, 13824e9, "profile"),
        ),
        (
            {"l1tex__lsu_writeback_active_mem_lgds.sum.per_second": 2.0,
             "l1tex__lsu_writeback_active_mem_lgds.sum.peak_sustained": 108.0,
             "l1tex__cycles_elapsed.avg.per_second": 1e9},
            ("L1", 256, 13824e9, "profile"),
        ),
    ],
)  # fmt: skip
def test_caches(trace: Trace, metrics: dict[str, float], row: tuple[object, ...]) -> None:
    trace.profile(dict(metrics))
    assert trace.ask(ASK) == [row]
