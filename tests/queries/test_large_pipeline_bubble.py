"""Rows of ``pipeline_bubble`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "process": 1,
    "device_id": 0,
    "rank": 1,
    "step": 0,
    "step_ns": 100,
    "bubble_ns": 30,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("pipeline_bubble", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM large_pipeline_bubble")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("warning", "waiting", "rank 1 device 0", 0.3, 0.3)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, bubble_ns=5) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM large_pipeline_bubble")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
