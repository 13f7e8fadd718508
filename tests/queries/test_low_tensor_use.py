"""Rows of ``gpu_utilisation`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {"metric": "tensor_active_share", "median_value": 0.1, "is_primary": True}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("gpu_utilisation", metric="sm_active_share", median_value=0.9, is_primary=True)
    trace.given("gpu_utilisation", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM low_tensor_use")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("info", "compute", None, 0.1, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, median_value=0.5) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM low_tensor_use")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
