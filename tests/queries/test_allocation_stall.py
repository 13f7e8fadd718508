"""What the job would save without this cause in, a finding out."""

from rows import Trace


def found(trace: Trace, saved_share: float | None) -> list[tuple[object, ...]]:
    row = {"severity": "wall", "wall": "w", "responsible": "call", "saved_share": saved_share}
    trace.given("idle_cost", cause="memory_management", **row)
    trace.given("idle_cost", **(row | {"cause": "another", "saved_share": 0.9}))
    return trace.ask("SELECT severity, wall, detail, value, evidence FROM allocation_stall")


def test_more_than_a_twentieth_is_told(trace: Trace) -> None:
    assert found(trace, 0.06) == [("wall", "w", "call", 0.06, "cause = 'memory_management'")]


def test_less_is_not(trace: Trace) -> None:
    assert found(trace, 0.05) == []


def test_what_cannot_be_told_is_no_finding(trace: Trace) -> None:
    assert found(trace, None) == []
