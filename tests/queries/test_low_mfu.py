"""Rows of ``model_flops_utilisation`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {"origin": "nsys", "mfu_share": 0.2}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("model_flops_utilisation", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM low_mfu")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("info", "compute", "nsys", 0.2, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, mfu_share=0.4) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM low_mfu")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
