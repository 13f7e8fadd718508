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
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []


CURVE = {"subject_kind": "collective benchmark", "name": "all_gather"}


def test_a_healthy_curve_is_low_at_its_middle(trace: Trace) -> None:
    trace.given("bandwidth_efficiency", **(ROW | CURVE | {"efficiency_share": 0.55}))
    assert found(trace, **CURVE, verdict="fair", efficiency_share=0.75) == []


def test_a_curve_that_stays_low(trace: Trace) -> None:
    trace.given("bandwidth_efficiency", **(ROW | CURVE | {"efficiency_share": 0.3}))
    ((*_, value, _cost),) = found(trace, **CURVE, efficiency_share=0.5)
    assert value == 0.4
