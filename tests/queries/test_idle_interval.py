from rows import Trace


def test_every_hole(trace: Trace) -> None:
    trace.kernel(0, 10, "gemm")
    trace.kernel(2, 5, "gemm", stream_id=8)  # ends inside the first
    trace.copy(11, 20, kind="DtoH")
    trace.kernel(25, 30, "softmax")
    rows = trace.ask("SELECT start_ns, end_ns, dur_ns FROM idle_interval ORDER BY start_ns")
    assert rows == [(10, 11, 1), (20, 25, 5)]


def test_two_that_start_together_end_one_hole(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.kernel(15, 20)
    trace.kernel(15, 30, stream_id=8)
    assert trace.ask("SELECT start_ns, end_ns FROM idle_interval") == [(10, 15)]


def test_no_hole_before_the_first_and_after_the_last(trace: Trace) -> None:
    trace.kernel(100, 110)
    assert trace.ask("FROM idle_interval") == []


def test_work_of_another_process_on_the_gpu_ends_a_hole(trace: Trace) -> None:
    trace.device(1, gpu_id="shared")
    trace.device(2, gpu_id="shared")
    trace.kernel(0, 10, process=1)
    trace.kernel(15, 20, process=2)
    assert trace.ask("SELECT dur_ns FROM idle_interval") == [(5,)]
