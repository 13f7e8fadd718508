from rows import Trace

SHAPE = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}


def test_kernels_with_what_limits_them(trace: Trace) -> None:
    trace.kernel(0, 50, "gemm", **SHAPE)
    trace.kernel(50, 70, "norm", **SHAPE)
    trace.kernel(70, 85, "copy")
    trace.kernel(85, 95, "ncclDevKernel_AllReduce", **SHAPE)
    trace.kernel(95, 100, "late", **SHAPE)
    trace.throughput(90.0, 10.0, "gemm")
    trace.throughput(10.0, 90.0, "norm", kernel_id=1, grid_x=9)
    trace.throughput(1.0, 1.0, "ncclDevKernel_AllReduce", kernel_id=2)
    trace.profile({}, "late", kernel_id=3)
    assert trace.ask("SELECT name, class, match, kernel_time_share FROM kernel_limit") == [
        ("gemm", "compute bound", "exact", 0.5),
        ("norm", "memory bound", "name only", 0.2),
        ("copy", "not profiled", None, 0.15),
        # What a kernel waits for is not in its profile.
        ("ncclDevKernel_AllReduce", "communication", "exact", 0.1),
        ("late", "not classified", "exact", 0.05),
    ]


def test_durations_are_those_of_the_job(trace: Trace) -> None:
    trace.kernel(0, 50, "gemm", **SHAPE)
    trace.throughput(90.0, 10.0, "gemm", metrics={"gpu__time_duration.sum": 9999.0})
    assert trace.ask("SELECT kernel_count, total_ns FROM kernel_limit") == [(1, 50)]


def test_one_name_in_two_shapes(trace: Trace) -> None:
    trace.kernel(0, 30, "gemm", **SHAPE)
    trace.kernel(30, 40, "gemm", **{**SHAPE, "grid_x": 16})
    trace.throughput(90.0, 10.0, "gemm")
    trace.throughput(10.0, 90.0, "gemm", kernel_id=1, grid_x=16)
    assert trace.ask("SELECT grid_x, class FROM kernel_limit") == [
        (8, "compute bound"),
        (16, "memory bound"),
    ]


def test_two_hosts_with_equal_device_ids(trace: Trace) -> None:
    for rank, dur_ns in ((0, 10), (1, 20)):
        trace.kernel(0, dur_ns, "gemm", **SHAPE, **trace.rank(rank, host=f"node-{rank}"))
    trace.throughput(90.0, 10.0, "gemm")
    rows = trace.ask("SELECT host, rank, class, total_ns, kernel_time_share FROM kernel_limit")
    assert rows == [
        ("node-0", 0, "compute bound", 10, 1),
        ("node-1", 1, "compute bound", 20, 1),
    ]


def test_a_kernel_of_no_shape_and_no_length(trace: Trace) -> None:
    trace.kernel(0, 0, "gemm")
    trace.throughput(90.0, 10.0, "gemm")
    assert trace.ask("SELECT class, match, kernel_time_share FROM kernel_limit") == [
        ("compute bound", "name only", None)
    ]


def test_a_run_without_profiles_has_no_rows(trace: Trace) -> None:
    trace.kernel(0, 50, "gemm", **SHAPE)
    assert trace.ask("FROM kernel_limit") == []
