"""Rows of ``hardware_error`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "host": "n",
    "gpu_id": "g",
    "device_id": 1,
    "entity": "gpu",
    "error": "XID",
    "code": 79,
    "severity": "critical",
    "role": "root",
    "is_over": True,
    "occurrences": 2,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("hardware_error", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM hardware_fault")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("fault", None, "n GPU 1", 2.0, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, is_over=False) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM hardware_fault")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
