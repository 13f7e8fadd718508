"""Rows of benchmarks in, those with wrong results out."""

from rows import Trace


def test_wrong_elements_are_added(trace: Trace) -> None:
    row = {"sweep": 0, "op": "all_reduce", "size_bytes": 8, "is_time_host": False}
    for number, wrong in enumerate((0, 2, 3, None)):
        trace.insert("collective_benchmark", benchmark_id=1, line=number, wrong_count=wrong, **row)
    trace.insert("collective_benchmark", benchmark_id=2, line=9, wrong_count=0, **row)
    sql = "SELECT benchmark_id, operation, row_count, wrong_count, line FROM benchmark_error"
    assert trace.ask(sql) == [(1, "all_reduce", 2, 5, 1)]
