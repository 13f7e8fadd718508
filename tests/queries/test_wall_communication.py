"""What was collected and what hiding communication would save in, its cost out."""

from rows import Trace

HIDDEN, NO_WAIT = "communication takes no time", "no rank waits for another"
SQL = "SELECT cost_ns, cost_share, bound_share, basis, reason, need FROM wall_communication"


def given(trace: Trace, step_count: int = 3, traced_count: int = 4) -> None:
    trace.stand_in("what_if")
    trace.stand_in("nccl_time_share")
    trace.given(
        "run_evidence",
        step_count=step_count,
        traced_count=traced_count,
        trace_reason=None if traced_count else "nothing captured",
    )


def test_its_cost_is_what_hiding_it_saves(trace: Trace) -> None:
    given(trace)
    trace.given("what_if", scenario=HIDDEN, saved_ns=30.0, saved_share=0.3)
    trace.given("what_if", scenario=NO_WAIT, saved_ns=10.0, saved_share=0.1)
    assert trace.ask(SQL) == [(30.0, 0.3, 0.3, "step", None, None)]


def test_without_all_ranks_it_may_be_waiting(trace: Trace) -> None:
    given(trace)
    trace.given("what_if", scenario=HIDDEN, saved_ns=30.0, saved_share=0.3)
    trace.given("what_if", scenario=NO_WAIT, reason="one rank")
    assert trace.ask(SQL) == [(None, None, 0.3, "step", "one rank", "nsys on every rank")]


def test_a_job_that_does_not_communicate(trace: Trace) -> None:
    given(trace)
    trace.given("what_if", scenario=HIDDEN, saved_ns=0.0, saved_share=0.0)
    trace.given("what_if", scenario=NO_WAIT, reason="no collectives are recorded")
    assert trace.ask(SQL) == [(0.0, 0.0, 0.0, "step", None, None)]


def test_without_steps_the_span_bounds_it(trace: Trace) -> None:
    given(trace, step_count=0)
    trace.given("nccl_time_share", exposed_communication_share=0.2)
    trace.given("nccl_time_share", exposed_communication_share=0.4)
    assert trace.ask(SQL) == [(None, None, 0.4, "span", "no steps were found", "nsys with steps")]


def test_without_a_capture_nothing_bounds_it(trace: Trace) -> None:
    given(trace, step_count=0, traced_count=0)
    assert trace.ask(SQL) == [(None, None, None, "span", "nothing captured", "nsys")]
