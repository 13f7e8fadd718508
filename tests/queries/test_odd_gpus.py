"""Rows of ``fleet_minority`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "gpu_name": "H100",
    "measure": "sm_clock_hz",
    "direction": "low",
    "minority_count": 1,
    "gpu_count": 8,
    "gpus": "n 3",
    "difference_share": -0.3,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("fleet_minority", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM odd_gpus")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("info", None, "H100 sm_clock_hz low", 0.3, None)]


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM odd_gpus")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
