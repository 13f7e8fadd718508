"""Rows of ``throttle_event`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "event": 1,
    "family": "thermal",
    "limited_by": "hw thermal",
    "scope": "device",
    "place": "node 3",
    "gpu_count": 1,
    "run_gpu_count": 8,
    "gpus": "node 3",
    "fallen_share": 0.4,
    "lost_ns": 200,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("run_scale", observed_ns=1000)
    trace.given("wall", wall="power", is_wall=True)
    trace.given("throttle_event", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM throttling")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("wall", "power", "device node 3", 0.4, 0.2)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, family="setting") == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM throttling")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []


def test_a_deep_slowdown_of_a_small_part_of_the_run_is_a_warning(trace: Trace) -> None:
    deep = found(trace, lost_ns=20, throughput_loss_share=0.4)
    assert [row[0] for row in deep] == ["warning"]


def test_one_that_costs_little_even_while_it_lasts(trace: Trace) -> None:
    mild = found(trace, lost_ns=20, throughput_loss_share=0.05)
    assert [row[0] for row in mild] == ["info"]


def test_a_moment_that_no_step_tells_of(trace: Trace) -> None:
    assert [row[0] for row in found(trace, lost_ns=None, dur_ns=10)] == ["info"]


def test_a_cost_that_nothing_limits(trace: Trace) -> None:
    assert [row[0] for row in found(trace, lost_ns=None)] == ["wall"]
