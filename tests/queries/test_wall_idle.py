"""Idle time by cause and what the job would save without it in, the cost of both walls out."""

import pytest
from rows import Row, Trace

WHERE = {"source_id": "a", "process": 1, "device_id": 0}
WALLS = pytest.mark.parametrize("wall", ["launch", "input"])
CAUSE = {"launch": "synchronize", "input": "data_loading"}


def given(trace: Trace, step_count: int = 3, traced_count: int = 4) -> None:
    for view in ("what_if", "nccl_time_share", "kernel_gap_cause"):
        trace.stand_in(view)
    trace.given(
        "run_evidence",
        step_count=step_count,
        traced_count=traced_count,
        trace_reason=None if traced_count else "nothing captured",
    )


def cost_of(trace: Trace, wall: str) -> Row:
    columns = "cost_ns, cost_share, bound_share, basis, reason, need"
    (row,) = trace.ask(f"SELECT {columns} FROM wall_idle WHERE wall = '{wall}'")
    return row


@WALLS
def test_its_cost_is_what_its_absence_saves(trace: Trace, wall: str) -> None:
    given(trace)
    scenario = f"no idle time of wall: {wall}"
    trace.given("what_if", scenario=scenario, saved_ns=20.0, saved_share=0.2)
    assert cost_of(trace, wall) == (20.0, 0.2, None, "step", None, None)


@WALLS
def test_without_steps_it_is_a_share_of_the_span(trace: Trace, wall: str) -> None:
    given(trace, step_count=0)
    trace.given("nccl_time_share", **WHERE, span_ns=100)
    for cause, total_ns in ((CAUSE[wall], 30), ("dependency", 50), ("unknown", 5)):
        trace.given("kernel_gap_cause", **WHERE, cause=cause, total_ns=total_ns)
    assert cost_of(trace, wall) == (None, 0.3, 0.05, "span", None, None)


@WALLS
def test_clocks_that_disagree_leave_it_unknown(trace: Trace, wall: str) -> None:
    given(trace)
    trace.given("what_if", scenario=f"no idle time of wall: {wall}", reason="clocks disagree")
    trace.given("nccl_time_share", **WHERE, span_ns=100)
    trace.given("kernel_gap_cause", **WHERE, cause="unknown", total_ns=40)
    assert cost_of(trace, wall) == (None, None, 0.4, "step", "clocks disagree", "nsys")


@WALLS
def test_a_job_without_such_gaps(trace: Trace, wall: str) -> None:
    given(trace)
    assert cost_of(trace, wall) == (0.0, 0.0, None, "step", None, None)


@WALLS
def test_without_a_capture(trace: Trace, wall: str) -> None:
    given(trace, step_count=0, traced_count=0)
    assert cost_of(trace, wall) == (None, None, None, "span", "nothing captured", "nsys")
