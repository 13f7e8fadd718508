from rows import Trace

SHARES = """
    SELECT window_index, busy_share, compute_share, communication_share,
        exposed_communication_share, exposed_memory_share
    FROM gpu_activity
"""


def test_windows_of_equal_width(trace: Trace) -> None:
    trace.threshold("activity_window_count", 4)
    trace.kernel(100, 115, "gemm")  # all of window 0, half of window 1
    trace.kernel(110, 120, "nccl", stream_id=8)  # half of window 1 exposed
    trace.copy(130, 140)  # all of window 3
    assert trace.ask("SELECT start_ns, end_ns FROM gpu_activity") == [
        (100, 110),
        (110, 120),
        (120, 130),
        (130, 140),
    ]
    assert trace.ask(SHARES) == [
        (0, 1.0, 1.0, 0.0, 0.0, 0.0),
        (1, 1.0, 0.5, 1.0, 0.5, 0.0),
        (2, 0.0, 0.0, 0.0, 0.0, 0.0),  # idle, and a row
        (3, 1.0, 0.0, 0.0, 0.0, 1.0),
    ]


def test_the_last_window_may_reach_beyond_the_last_end(trace: Trace) -> None:
    trace.threshold("activity_window_count", 2)
    trace.kernel(0, 5)
    assert trace.ask("SELECT window_index, start_ns, end_ns, busy_share FROM gpu_activity") == [
        (0, 0, 3, 1.0),
        (1, 3, 6, 2 / 3),
    ]


def test_a_span_shorter_than_the_windows_has_one_a_nanosecond(trace: Trace) -> None:
    trace.threshold("activity_window_count", 200)
    trace.kernel(0, 1)
    trace.kernel(2, 3)
    assert trace.ask("SELECT window_index, end_ns - start_ns, busy_share FROM gpu_activity") == [
        (0, 1, 1.0),
        (1, 1, 0.0),
        (2, 1, 1.0),
    ]


def test_devices_of_a_file_line_up(trace: Trace) -> None:
    trace.threshold("activity_window_count", 2)
    trace.kernel(0, 10, device_id=0)
    trace.kernel(10, 20, device_id=1)
    rows = trace.ask("SELECT device_id, window_index, start_ns, busy_share FROM gpu_activity")
    assert rows == [(0, 0, 0, 1.0), (0, 1, 10, 0.0), (1, 0, 0, 0.0), (1, 1, 10, 1.0)]


def test_what_overlaps_is_not_counted_twice(trace: Trace) -> None:
    trace.threshold("activity_window_count", 1)
    trace.kernel(0, 6, "gemm")
    trace.kernel(0, 10, "gemm", stream_id=8)
    trace.kernel(2, 4, "nccl", stream_id=9)
    trace.graph(5, 10)
    assert trace.ask(SHARES) == [(0, 1.0, 1.0, 0.2, 0.0, 0.0)]


def test_only_work_of_no_length_has_no_window(trace: Trace) -> None:
    trace.kernel(5, 5)
    assert trace.ask("FROM gpu_activity") == []
