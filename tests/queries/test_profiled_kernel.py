import pytest
from rows import COMPUTE, MEMORY, Trace

WAVES = "launch__waves_per_multiprocessor"
CLOCK, MAX_CLOCK = "gpc__cycles_elapsed.avg.per_second", "device__attribute_clock_rate"


@pytest.mark.parametrize(
    ("compute", "memory", "limit", "is_high"),
    [
        # Published reports, and what ncu's rule SOLBottleneck says of them.
        (31.41, 77.06, "memory bound", False),  # silu, A100
        (23.59, 21.68, "latency bound", False),  # cuBLASLt, B200
        (21.22, 34.28, "latency bound", False),  # dropout, A100
        (71.66, 35.35, "compute bound", False),  # hotspot, V100
        (36.86, 88.20, "memory bound", True),  # init_data, RTX 3070
        (80.30, 9.45, "compute bound", True),  # fma, RTX 2080 Ti
        # The borders.
        (59.99, 59.99, "latency bound", False),
        (60.0, 59.99, "balanced", False),
        (75.0, 65.0, "compute bound", False),
        (65.0, 74.99, "balanced", False),
        (80.0, 79.0, "compute bound", True),
        (85.0, 85.0, "balanced", True),
        (103.0, 20.0, "compute bound", True),
        (0.0, 0.0, "latency bound", False),
        # One alone can only tell whether it is high.
        (None, 70.0, None, None),
        (90.0, None, None, True),
        (None, None, None, None),
    ],
)
def test_class(
    trace: Trace, compute: float | None, memory: float | None, limit: str, is_high: bool
) -> None:
    trace.throughput(compute, memory)
    assert trace.ask("SELECT class, is_high FROM profiled_kernel") == [(limit, is_high)]


def test_a_kernel_without_metrics(trace: Trace) -> None:
    trace.profile({})
    assert trace.ask("SELECT class, is_high, clock_hz FROM profiled_kernel") == [(None, None, None)]


@pytest.mark.parametrize(
    ("metrics", "blocks", "is_small"),
    [
        ({WAVES: 0.22}, 64, True),
        ({WAVES: 1.0}, 64, False),
        ({"launch__sm_count": 148.0}, 147, True),  # a block for each SM at most
        ({"launch__sm_count": 148.0}, 148, None),
        ({}, 64, None),
    ],
)
def test_small_grid(
    trace: Trace, metrics: dict[str, float], blocks: int, is_small: bool | None
) -> None:
    trace.throughput(10.0, 20.0, metrics=metrics, grid_x=blocks)
    assert trace.ask("SELECT class, is_small_grid FROM profiled_kernel") == [
        ("latency bound", is_small)
    ]


def test_a_small_grid_that_is_not_latency_bound(trace: Trace) -> None:
    trace.throughput(90.0, 20.0, metrics={WAVES: 0.2})
    assert trace.ask("SELECT is_small_grid FROM profiled_kernel") == [(False,)]


def test_thresholds_can_be_set(trace: Trace) -> None:
    trace.threshold("sol_latency_share", 0.1)
    trace.throughput(12.0, 30.0)
    assert trace.ask("SELECT class FROM profiled_kernel") == [("memory bound",)]


@pytest.mark.parametrize(
    ("clock_hz", "controls", "is_locked"),
    [
        (1.09e9, [], True),  # of 1.41 GHz: 0.77
        (1.40e9, [], False),
        (None, [], None),
        (1.40e9, [None], True),  # not given is base
        (1.09e9, ["none"], False),
        (1.40e9, ["base", "none"], False),  # which of them is not known, so the clock tells
    ],
)
def test_whether_clocks_were_locked(
    trace: Trace, clock_hz: float | None, controls: list[str | None], is_locked: bool | None
) -> None:
    trace.profile({CLOCK: clock_hz, MAX_CLOCK: 1.41e6})
    for number, control in enumerate(controls):
        trace.insert("profiler_session", source_id=str(number), clock_control=control)
    assert trace.ask("SELECT is_clock_locked FROM profiled_kernel") == [(is_locked,)]


def test_pages_of_one_report_stay_apart(trace: Trace) -> None:
    trace.profile({COMPUTE: 90.0, MEMORY: 10.0}, source_id="raw")
    trace.profile({COMPUTE: 10.0, MEMORY: 90.0}, source_id="details")
    trace.profile({COMPUTE: 10.0, MEMORY: 10.0}, run_id="other")
    rows = trace.ask("SELECT run_id, source_id, class FROM profiled_kernel ORDER BY ALL")
    assert rows == [
        ("other", "ncu", "latency bound"),
        ("run", "details", "memory bound"),
        ("run", "raw", "compute bound"),
    ]
