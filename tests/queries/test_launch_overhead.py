"""What the job would save without this cause in, a finding out."""

from rows import Trace


def found(trace: Trace, saved_share: float | None) -> list[tuple[object, ...]]:
    row = {"severity": "wall", "wall": "w", "responsible": "call", "saved_share": saved_share}
    trace.given("idle_cost", cause="launch_call", **row)
    trace.given("idle_cost", **(row | {"cause": "another", "saved_share": 0.9}))
    return trace.ask("SELECT severity, wall, detail, value, evidence FROM launch_overhead")


def test_more_than_a_twentieth_is_told(trace: Trace) -> None:
    assert found(trace, 0.06) == [("wall", "w", "call", 0.06, "cause = 'launch_call'")]


def test_short_gaps_between_many_small_kernels_are_told(trace: Trace) -> None:
    row = {"severity": "wall", "wall": "launch", "responsible": None, "saved_share": 0.6}
    trace.given("idle_cost", cause="short_gap", **row)
    told = trace.ask("SELECT severity, detail, value, evidence FROM launch_overhead")
    detail = "gaps between kernels that each last less than 10000 ns"
    assert told == [("wall", detail, 0.6, "cause = 'short_gap'")]


def test_less_is_not(trace: Trace) -> None:
    assert found(trace, 0.05) == []


def test_what_cannot_be_told_is_no_finding(trace: Trace) -> None:
    assert found(trace, None) == []
