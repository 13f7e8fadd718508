from rows import Trace


def test_kernels_by_time(trace: Trace) -> None:
    trace.kernel(0, 10, "small")
    trace.kernel(20, 40, "gemm")
    trace.kernel(50, 110, "gemm")
    trace.kernel(120, 130, "gemm")
    rows = trace.ask(
        "SELECT name, class, kernel_count, total_ns, kernel_time_share, min_ns, max_ns"
        " FROM top_kernel"
    )
    assert rows == [
        ("gemm", "gemm", 3, 90, 0.9, 10, 60),
        ("small", "other", 1, 10, 0.1, 10, 10),
    ]


def test_how_the_durations_are_spread(trace: Trace) -> None:
    for place, dur_ns in enumerate((1, 3, 5, 11)):
        trace.kernel(place * 100, place * 100 + dur_ns)
    rows = trace.ask("SELECT mean_ns, median_ns, stddev_ns ** 2, p99_ns FROM top_kernel")
    assert [tuple(round(value, 6) for value in row) for row in rows] == [
        (5, 4, 18.666667, 10.82)  # (16 + 4 + 0 + 36) / 3; 97 % of the way from 5 to 11
    ]


def test_a_single_execution_has_no_deviation(trace: Trace) -> None:
    trace.kernel()
    assert trace.ask("SELECT stddev_ns FROM top_kernel") == [(None,)]


def test_shares_are_of_a_device(trace: Trace) -> None:
    trace.kernel(0, 30, "gemm", device_id=0)
    trace.kernel(0, 10, "softmax", device_id=0)
    trace.kernel(0, 10, "gemm", device_id=1)
    assert trace.ask("SELECT device_id, name, kernel_time_share FROM top_kernel") == [
        (0, "gemm", 0.75),
        (0, "softmax", 0.25),
        (1, "gemm", 1),
    ]


def test_a_name_that_two_files_hold_counts_in_each(trace: Trace) -> None:
    trace.kernel(0, 30, "gemm", source_id="a")
    trace.kernel(0, 10, "gemm", source_id="b")
    assert trace.ask("SELECT source_id, kernel_count FROM top_kernel ORDER BY source_id") == [
        ("a", 1),
        ("b", 1),
    ]


def test_kernels_of_no_length_have_no_share(trace: Trace) -> None:
    trace.kernel(0, 0)
    assert trace.ask("SELECT total_ns, kernel_time_share FROM top_kernel") == [(0, None)]
