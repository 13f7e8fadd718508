"""Rows of ``benchmark_error`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "benchmark_id": 1,
    "operation": "all_reduce",
    "wrong_count": 3,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("benchmark_error", **(ROW | changed))
    return trace.ask(
        "SELECT severity, wall, subject, value, cost_share FROM wrong_benchmark_result"
    )


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("fault", "interconnect", "all_reduce", 3.0, None)]


def test_the_footer_counts_where_no_row_does(trace: Trace) -> None:
    changed = {"wrong_count": None, "out_of_bounds_count": 2}
    assert found(trace, **changed) == [("fault", "interconnect", "all_reduce", 2.0, None)]


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM wrong_benchmark_result")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
