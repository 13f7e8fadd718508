"""Rows of ``kernel_pace`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "process": 1,
    "device_id": 0,
    "rank": 2,
    "host": "n",
    "is_slow": True,
    "pace_ratio": 1.3,
    "explanation": "lower clock",
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("kernel_pace", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM slow_gpu")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("warning", "power", "rank 2 n device 0", 1.3, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, is_slow=False) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM slow_gpu")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
