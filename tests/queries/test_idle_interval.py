from rows import Trace


def test_every_hole_with_what_follows(trace: Trace) -> None:
    trace.kernel(0, 10, "gemm")
    trace.kernel(2, 5, "gemm", stream_id=8)  # ends inside the first
    trace.copy(11, 20, kind="DtoH")
    trace.kernel(25, 30, "softmax")
    rows = trace.ask(
        """
        SELECT i.start_ns, i.end_ns, i.dur_ns, i.after_kind, n.name, i.after_detail
        FROM idle_interval AS i LEFT JOIN classified_kernel_name AS n ON n.name_id = after_name_id
        ORDER BY i.start_ns
        """
    )
    assert rows == [
        (10, 11, 1, "memory_copy", None, "DtoH"),
        (20, 25, 5, "kernel", "softmax", None),
    ]


def test_no_hole_before_the_first_and_after_the_last(trace: Trace) -> None:
    trace.kernel(100, 110)
    assert trace.ask("FROM idle_interval") == []


def test_the_device_is_that_of_the_work_that_follows(trace: Trace) -> None:
    trace.device(1, gpu_id="shared")
    trace.device(2, gpu_id="shared")
    trace.kernel(0, 10, process=1)
    trace.kernel(15, 20, process=2)
    rows = trace.ask(
        "SELECT process, dur_ns FROM idle_interval JOIN traced_device USING (device_key)"
    )
    assert rows == [(2, 5)]
