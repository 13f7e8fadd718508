"""Idle time by cause and what the job would save without it in, the cost of the wall out."""

from rows import Trace

SCENARIO = "no idle time of wall: launch"
SQL = "SELECT cost_ns, cost_share, bound_share, basis, reason, need FROM wall_launch"
WHERE = {"source_id": "a", "process": 1, "device_id": 0}


def given(trace: Trace, step_count: int = 3, traced_count: int = 4) -> None:
    for view in ("what_if", "nccl_time_share", "kernel_gap_cause"):
        trace.stand_in(view)
    trace.given("run_evidence", step_count=step_count, traced_count=traced_count)


def test_its_cost_is_what_its_absence_saves(trace: Trace) -> None:
    given(trace)
    trace.given("what_if", scenario=SCENARIO, saved_ns=20.0, saved_share=0.2)
    assert trace.ask(SQL) == [(20.0, 0.2, None, "step", None, None)]


def test_without_steps_it_is_a_share_of_the_span(trace: Trace) -> None:
    given(trace, step_count=0)
    trace.given("nccl_time_share", **WHERE, span_ns=100)
    trace.given("kernel_gap_cause", **WHERE, cause="synchronize", total_ns=30)
    trace.given("kernel_gap_cause", **WHERE, cause="data_loading", total_ns=50)
    trace.given("kernel_gap_cause", **WHERE, cause="unknown", total_ns=5)
    assert trace.ask(SQL) == [(None, 0.3, 0.05, "span", None, None)]


def test_clocks_that_disagree_leave_it_unknown(trace: Trace) -> None:
    given(trace)
    trace.given("what_if", scenario=SCENARIO, reason="clocks disagree")
    trace.given("nccl_time_share", **WHERE, span_ns=100)
    trace.given("kernel_gap_cause", **WHERE, cause="unknown", total_ns=40)
    assert trace.ask(SQL) == [(None, None, 0.4, "step", "clocks disagree", "nsys")]


def test_a_job_without_such_gaps(trace: Trace) -> None:
    given(trace)
    assert trace.ask(SQL) == [(0.0, 0.0, None, "step", None, None)]


def test_without_a_capture(trace: Trace) -> None:
    given(trace, step_count=0, traced_count=0)
    assert trace.ask(SQL) == [(None, None, None, "span", "no Nsight Systems capture", "nsys")]
