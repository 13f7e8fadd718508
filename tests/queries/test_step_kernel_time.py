from rows import Trace
from test_step_time_part import step


def test_the_kernels_with_most_time_come_first(trace: Trace) -> None:
    for number in range(2):
        at = 100 * number
        step(
            trace,
            number,
            ("gemm", at, at + 60),
            ("relu", at + 60, at + 90),
            ("copy", at + 90, at + 100),
        )
    rows = trace.ask("SELECT name, place, launches_per_step, mean_ns FROM step_kernel_time")
    assert rows == [("gemm", 1, 1, 60), ("relu", 2, 1, 30)]


def test_there_are_no_more_than_the_threshold(trace: Trace) -> None:
    trace.threshold("step_kernel_count", 1)
    for number in range(2):
        step(
            trace,
            number,
            ("gemm", 100 * number, 100 * number + 60),
            ("relu", 100 * number + 60, 100 * number + 100),
        )
    assert trace.ask("SELECT name FROM step_kernel_time") == [("gemm",)]
