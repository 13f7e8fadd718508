"""Rows of ``communication_overlap`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {"source_id": "a", "process": 1, "device_id": 0, "shared_stream_share": 0.9}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("communication_overlap", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM shared_stream")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("info", "communication", None, 0.9, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, shared_stream_share=0.1) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM shared_stream")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
