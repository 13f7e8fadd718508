"""Rows of ``memory_headroom`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "gpu_id": "g",
    "host": "n",
    "device_id": 1,
    "is_growing": True,
    "is_primary": True,
    "growth_bytes": 5.0,
    "total_bytes": 100,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("memory_headroom", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM memory_leak")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("warning", "memory capacity", "n GPU 1", 5.0, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, is_growing=False) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM memory_leak")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
