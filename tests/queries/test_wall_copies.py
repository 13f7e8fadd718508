"""What the job would save without copies in, their cost out."""

from rows import Trace

SQL = "SELECT cost_ns, cost_share, basis, reason, need FROM wall_copies"


def given(trace: Trace, step_count: int = 3, traced_count: int = 4) -> None:
    trace.stand_in("what_if")
    trace.stand_in("nccl_time_share")
    trace.given(
        "run_evidence",
        step_count=step_count,
        traced_count=traced_count,
        trace_reason=None if traced_count else "nothing captured",
    )


def test_their_cost_is_what_their_absence_saves(trace: Trace) -> None:
    given(trace)
    trace.given("what_if", scenario="no copies or sets alone", saved_ns=20.0, saved_share=0.2)
    assert trace.ask(SQL) == [(20.0, 0.2, "step", None, None)]


def test_without_steps_they_are_a_share_of_the_span(trace: Trace) -> None:
    given(trace, step_count=0)
    trace.given("nccl_time_share", exposed_memory_ns=90, span_ns=100)
    assert trace.ask(SQL) == [(None, 0.9, "span", None, None)]


def test_without_a_capture(trace: Trace) -> None:
    given(trace, step_count=0, traced_count=0)
    assert trace.ask(SQL) == [(None, None, "span", "nothing captured", "nsys")]
