"""Rows of ``gpu_utilisation`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "gpu_id": "g",
    "host": "n",
    "device_id": 1,
    "metric": "gpu_util_share",
    "mean_value": 0.01,
    "is_primary": True,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("gpu_utilisation", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM unused_gpu")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("warning", None, "n GPU 1", 0.01, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, mean_value=0.5) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM unused_gpu")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
