"""What the job would save without this cause in, a finding out."""

from rows import Trace

SCENARIO = "no idle time: profiler"


def found(trace: Trace, saved_share: float | None) -> list[tuple[object, ...]]:
    trace.given("what_if", scenario=SCENARIO, saved_share=saved_share)
    trace.given("what_if", scenario="no idle time: something else", saved_share=0.9)
    trace.given("kernel_gap_cause", cause="profiler", responsible="another", responsible_ns=5)
    trace.given("kernel_gap_cause", cause="profiler", responsible="Buffer flush", responsible_ns=9)
    return trace.ask("SELECT severity, wall, detail, value, cost_share FROM profiler_stall")


def test_the_profiler_is_no_wall_of_the_job(trace: Trace) -> None:
    assert found(trace, 0.1) == [("warning", None, "Buffer flush", 0.1, 0.1)]


def test_a_twentieth_is_worth_a_look(trace: Trace) -> None:
    assert found(trace, 0.06) == [("warning", None, "Buffer flush", 0.06, 0.06)]


def test_less_is_not(trace: Trace) -> None:
    assert found(trace, 0.05) == []


def test_what_cannot_be_told_is_no_finding(trace: Trace) -> None:
    assert found(trace, None) == []
