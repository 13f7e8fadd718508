"""Rows of benchmarks in, those with wrong results out."""

from typing import Any

from rows import Trace


def test_wrong_elements_are_added(trace: Trace) -> None:
    row = {"sweep": 0, "op": "all_reduce", "size_bytes": 8, "is_time_host": False}
    for number, wrong in enumerate((0, 2, 3, None)):
        trace.insert("collective_benchmark", benchmark_id=1, line=number, wrong_count=wrong, **row)
    trace.insert("collective_benchmark", benchmark_id=2, line=9, wrong_count=0, **row)
    sql = "SELECT benchmark_id, operation, row_count, wrong_count, line FROM benchmark_error"
    assert trace.ask(sql) == [(1, "all_reduce", 2, 5, 1)]


def test_the_footer_alone_tells_of_deviations(trace: Trace) -> None:
    # Before 2022 rows have an error of 1e+00 and no count of wrong elements.
    flags = ("is_interleaved", "is_blocking", "has_parallel_init", "has_iteration_report")
    base: dict[str, Any] = dict.fromkeys(flags, False)
    base |= {"tool": "nccl-tests", "op": "all_gather", "first_line": 5, "status": "complete"}
    base |= {"failure_count": 0, "row_count": 2}
    for number, (count, is_ok) in enumerate(((2, False), (0, True), (None, None), (1, None))):
        trace.insert(
            "collective_benchmark_run",
            benchmark_id=number,
            out_of_bounds_count=count,
            is_out_of_bounds_ok=is_ok,
            **base,
        )
    sql = """
        SELECT benchmark_id, operation, row_count, wrong_count, out_of_bounds_count, line
        FROM benchmark_error
    """
    assert trace.ask(sql) == [
        (0, "all_gather", 0, None, 2, 5),
        (3, "all_gather", 0, None, 1, 5),
    ]
