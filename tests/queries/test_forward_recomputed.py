"""Rows of ``recomputation`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "process": 1,
    "device_id": 0,
    "step": 0,
    "step_share": 0.2,
    "evidence": "name",
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("recomputation", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM forward_recomputed")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("info", "memory capacity", None, 0.2, 0.2)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, step_share=0.01) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM forward_recomputed")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
