"""Rows of ``slow_host`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "operation": "all_reduce",
    "host": "c",
    "verdict": "slow",
    "median_busbw_bytes_per_s": 49.0,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("slow_host", **(ROW | changed))
    return trace.ask(
        "SELECT severity, wall, subject, value, cost_share FROM slow_host_in_benchmarks"
    )


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("fault", "interconnect", "c", 49.0, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, verdict="healthy") == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM slow_host_in_benchmarks")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
