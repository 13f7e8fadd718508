"""Rows of ``bandwidth_efficiency`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "subject_kind": "link benchmark",
    "subject_id": 1,
    "host": "n",
    "name": "ib_write_bw",
    "verdict": "low",
    "efficiency_share": 0.4,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("bandwidth_efficiency", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM slow_link")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("warning", "interconnect", "n ib_write_bw", 0.4, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, verdict="fair") == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM slow_link")
    assert trace.ask(f"FROM {view} WHERE {evidence or True}") != []
