from typing import Any

from rows import Trace

SHAPE = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}


def profiles(trace: Trace) -> None:
    trace.throughput(90.0, 10.0, "gemm")
    trace.throughput(10.0, 90.0, "norm", kernel_id=1)
    trace.throughput(5.0, 5.0, "tiny", kernel_id=2)


def shares(trace: Trace, step: str) -> dict[str, Any]:
    return dict(
        trace.ask(f"SELECT class, kernel_time_share FROM weighted_roofline WHERE step {step}")
    )


def test_the_whole_capture(trace: Trace) -> None:
    profiles(trace)
    trace.kernel(0, 40, "gemm", **SHAPE)
    trace.kernel(40, 60, "gemm", **SHAPE)
    trace.kernel(60, 80, "norm", **SHAPE)
    trace.kernel(80, 90, "tiny", **SHAPE)
    trace.kernel(90, 95, "copy")
    trace.kernel(95, 100, "ncclDevKernel_AllReduce")
    assert shares(trace, "IS NULL") == {
        "compute bound": 0.6,
        "memory bound": 0.2,
        "latency bound": 0.1,
        "not profiled": 0.05,
        "communication": 0.05,
    }


def test_by_step(trace: Trace) -> None:
    profiles(trace)
    where = trace.rank(0)
    for step in range(3):
        begin = 1000 * step
        trace.step(where, begin, begin + 1000, f"step {step}")
        trace.launched(where, begin, begin + 300, "gemm", **SHAPE)
        trace.launched(where, begin + 300, begin + 400, "norm", **SHAPE)
        trace.launched(where, begin + 900, begin + 1000, "copy")
    rows = trace.ask(
        "SELECT class, total_ns, kernel_time_share, step_ns, step_share FROM weighted_roofline"
        " WHERE step = 1"
    )
    assert rows == [
        ("compute bound", 300, 0.6, 1000, 0.3),
        ("memory bound", 100, 0.2, 1000, 0.1),
        ("not profiled", 100, 0.2, 1000, 0.1),
    ]


def test_how_well_profiles_match(trace: Trace) -> None:
    trace.throughput(90.0, 10.0, "gemm")
    trace.kernel(0, 30, "gemm", **SHAPE)
    trace.kernel(30, 40, "gemm", **{**SHAPE, "grid_x": 9})
    trace.kernel(40, 50, "copy")
    rows = trace.ask("SELECT class, exact_share, name_only_share FROM weighted_roofline")
    assert rows == [("compute bound", 0.75, 0.25), ("not profiled", None, None)]


def test_streams_side_by_side_count_each(trace: Trace) -> None:
    profiles(trace)
    where = trace.rank(0)
    for step in range(2):
        begin = 100 * step
        trace.step(where, begin, begin + 100, f"step {step}")
        trace.launched(where, begin, begin + 100, "gemm", **SHAPE)
        trace.launched(where, begin, begin + 100, "norm", stream_id=8, **SHAPE)
    rows = trace.ask("SELECT step_share FROM weighted_roofline WHERE step = 1")
    assert rows == [(1,), (1,)]


def test_ranks_and_runs_stay_apart(trace: Trace) -> None:
    profiles(trace)
    for rank in (0, 1):
        trace.kernel(0, 10, "gemm", **SHAPE, **trace.rank(rank))
    trace.kernel(0, 10, "norm", run_id="other", source_id="z", process=9)
    assert trace.ask("SELECT rank, class, kernel_time_share FROM weighted_roofline") == [
        (0, "compute bound", 1),
        (1, "compute bound", 1),
    ]


def test_profiles_alone_weigh_nothing(trace: Trace) -> None:
    profiles(trace)
    assert trace.ask("FROM weighted_roofline") == []
