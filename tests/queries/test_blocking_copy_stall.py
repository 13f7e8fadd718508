"""What the job would save without this cause in, a finding out."""

from rows import Trace

SCENARIO = "no idle time: blocking_copy"


def found(
    trace: Trace, saved_share: float | None, is_wall: bool = True
) -> list[tuple[object, ...]]:
    trace.given("wall", wall="launch", is_wall=is_wall)
    trace.given("what_if", scenario=SCENARIO, saved_share=saved_share)
    trace.given("what_if", scenario="no idle time: something else", saved_share=0.9)
    trace.given("kernel_gap_cause", cause="blocking_copy", responsible="another", responsible_ns=5)
    trace.given(
        "kernel_gap_cause", cause="blocking_copy", responsible="cudaMemcpy", responsible_ns=9
    )
    return trace.ask("SELECT severity, wall, detail, value, cost_share FROM blocking_copy_stall")


def test_a_tenth_of_the_step_is_a_wall(trace: Trace) -> None:
    assert found(trace, 0.1) == [("wall", "launch", "cudaMemcpy", 0.1, 0.1)]


def test_what_only_a_late_rank_has_is_no_wall(trace: Trace) -> None:
    assert found(trace, 0.1, is_wall=False)[0][0] == "warning"


def test_a_twentieth_is_worth_a_look(trace: Trace) -> None:
    assert found(trace, 0.06) == [("warning", "launch", "cudaMemcpy", 0.06, 0.06)]


def test_less_is_not(trace: Trace) -> None:
    assert found(trace, 0.05) == []


def test_what_cannot_be_told_is_no_finding(trace: Trace) -> None:
    assert found(trace, None) == []
