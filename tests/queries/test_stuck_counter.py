"""Rows of ``gpu_utilisation`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "gpu_id": "g",
    "metric": "sm_active_share",
    "left_out_count": 7,
    "reason": "counters stuck",
    "is_primary": True,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("gpu_utilisation", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM stuck_counter")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("info", None, "sm_active_share", 7.0, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, reason=None) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM stuck_counter")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
