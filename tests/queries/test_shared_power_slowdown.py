"""Rows of ``throttle_event`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "event": 1,
    "family": "power",
    "reason_names": "power brake",
    "scope": "power domain",
    "place": "pdu 7",
    "gpu_count": 8,
    "place_gpu_count": 8,
    "limited_by": "power brake",
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("throttle_event", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM shared_power_slowdown")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("fault", "power", "power domain pdu 7", 8.0, None)]


def test_what_its_steps_lost_of_all_the_time(trace: Trace) -> None:
    trace.given("run_scale", observed_ns=2_000)
    assert found(trace, lost_ns=500)[0][-1] == 0.25


def test_an_unknown_cost_has_its_reason(trace: Trace) -> None:
    found(trace, cost_reason="no step ran inside")
    ((detail,),) = trace.ask("SELECT detail FROM shared_power_slowdown")
    assert detail == "8 of 8 GPUs there: power brake; no step ran inside"


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, scope="device") == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM shared_power_slowdown")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
