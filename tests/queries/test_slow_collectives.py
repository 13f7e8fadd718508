"""Rows of ``collective_efficiency`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "operation": "all_reduce",
    "cause": "transfer",
    "lost_transfer_ns": 30,
    "dur_ns": 100,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("wall", wall="interconnect", is_wall=True, cost_share=0.2)
    trace.given("collective_efficiency", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM slow_collectives")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("wall", "interconnect", "all_reduce", 0.3, 0.2)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, cause="wait") == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM slow_collectives")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
