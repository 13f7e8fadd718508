"""Slowdowns and steps in, what they cost a run out."""

from typing import Any

from rows import Trace

VIEWS = ("throttle_event", "clock_summary", "step_time", "run_evidence")
SQL = "SELECT subject, cost_ns, cost_share, bound_share, is_evident, need FROM wall_power"
EVENT: dict[str, Any] = {
    "event": 1, "family": "thermal", "limited_by": "heat", "scope": "device", "place": "node 3",
    "fallen_share": 0.5, "dur_ns": 100,
}  # fmt: skip
SUBJECT = "device node 3: heat"


def given(trace: Trace, is_sampled: bool = True) -> None:
    for view in VIEWS:
        trace.stand_in(view)
    trace.given("run_evidence")
    if is_sampled:
        trace.given("clock_summary", span_ns=1000)
    for step in range(4):
        trace.given("step_time", step=step, step_ns=250, compute_ns=200, kernel_count=9)


def test_what_steps_lost_is_spread_over_all(trace: Trace) -> None:
    given(trace)
    trace.given("throttle_event", **EVENT, lost_ns=200)
    assert trace.ask(SQL) == [(SUBJECT, 50.0, 0.2, 0.05, False, None)]


def test_a_slowdown_of_unknown_cost_is_evident_if_it_may_be_large(trace: Trace) -> None:
    given(trace)
    trace.given("throttle_event", **EVENT, cost_reason="no steps")
    assert trace.ask(SQL) == [(SUBJECT, None, None, 0.05, False, "training log")]
    trace.given("throttle_event", **(EVENT | {"event": 2, "dur_ns": 400}))
    assert trace.ask(SQL) == [(SUBJECT, None, None, 0.25, True, "training log")]


def test_a_clock_that_somebody_set_costs_nothing(trace: Trace) -> None:
    given(trace)
    trace.given("throttle_event", **(EVENT | {"family": "setting"}), lost_ns=200)
    assert trace.ask(SQL) == [(None, 0.0, 0.0, None, False, None)]


def test_without_telemetry_even_steps_rule_it_out(trace: Trace) -> None:
    given(trace, is_sampled=False)
    assert trace.ask(SQL) == [(None, None, None, 0.0, False, "dcgm")]


def test_without_telemetry_slow_steps_may_be_clocks(trace: Trace) -> None:
    given(trace, is_sampled=False)
    trace.given("step_time", step=4, step_ns=450, compute_ns=400, kernel_count=9)
    assert trace.ask(SQL)[0][3] == 1 - 1000 / 1200


def test_other_work_is_no_slower_work(trace: Trace) -> None:
    given(trace, is_sampled=False)
    trace.given("step_time", step=4, step_ns=450, compute_ns=400, kernel_count=18)
    assert trace.ask(SQL)[0][3] == 0.0
