"""Rows of ``throughput_regression`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "view_name": "step_time",
    "metric": "step_ns",
    "statistic": "median",
    "key": "",
    "is_headline": True,
    "change_share": 0.25,
    "suspects": "nccl: 1 -> 2",
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("throughput_regression", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM regressed_metric")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("warning", None, "step_ns median", 0.25, 0.2)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, is_headline=False) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM regressed_metric")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
