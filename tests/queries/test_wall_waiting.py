"""Stragglers and what the job would save without them in, the cost of waiting out."""

from rows import Trace

HIDDEN, NO_WAIT = "communication takes no time", "no rank waits for another"
SQL = "SELECT subject, cost_share, bound_share, reason, need FROM wall_waiting"


def given(trace: Trace, step_count: int = 3, traced_count: int = 4) -> None:
    for view in ("what_if", "nccl_time_share", "straggler"):
        trace.stand_in(view)
    trace.given(
        "run_evidence",
        step_count=step_count,
        traced_count=traced_count,
        trace_reason=None if traced_count else "nothing captured",
    )


def test_the_rank_that_costs_most_is_named(trace: Trace) -> None:
    given(trace)
    trace.given("straggler", verdict="straggler", rank=1, host="a", lost_ns=5)
    trace.given("straggler", verdict="straggler", rank=2, host="b", lost_ns=9)
    trace.given("straggler", verdict="ordinary", rank=3, host="b", lost_ns=20)
    trace.given("what_if", scenario=NO_WAIT, saved_ns=20.0, saved_share=0.2)
    assert trace.ask(SQL) == [("rank 2 on b", 0.2, None, None, None)]


def test_a_rank_without_a_number(trace: Trace) -> None:
    given(trace)
    trace.given("straggler", verdict="straggler", device_id=1, process=7, lost_ns=5)
    trace.given("what_if", scenario=NO_WAIT, saved_ns=20.0, saved_share=0.2)
    assert trace.ask(SQL)[0][0] == "device 1 of process 7"


def test_what_cannot_be_split_is_bounded_by_what_is_exposed(trace: Trace) -> None:
    given(trace)
    trace.given("what_if", scenario=HIDDEN, saved_share=0.3)
    trace.given("what_if", scenario=NO_WAIT, reason="one rank")
    assert trace.ask(SQL) == [(None, None, 0.3, "one rank", "nsys on every rank")]


def test_without_communication_nobody_waits(trace: Trace) -> None:
    given(trace)
    trace.given("what_if", scenario=HIDDEN, saved_share=0.0)
    trace.given("what_if", scenario=NO_WAIT, reason="no collectives are recorded")
    assert trace.ask(SQL) == [(None, 0.0, 0.0, None, None)]


def test_without_a_capture(trace: Trace) -> None:
    given(trace, step_count=0, traced_count=0)
    assert trace.ask(SQL) == [(None, None, None, "nothing captured", "nsys")]
