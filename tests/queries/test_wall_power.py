"""Slowdowns and steps in, what they cost a run out."""

from typing import Any

from rows import Trace

S = 10**9
ONE, OTHER = (30 * S, 50 * S), (35 * S, 55 * S)


def log(trace: Trace, *lengths_s: int, count: int = 1) -> None:
    """Lines of a log, each a mean of so many steps."""
    for view in ("throttle_event", "throttled_step", "step_period", "clock_summary", "step_time"):
        trace.stand_in(view)
    trace.given("run_evidence")
    trace.given("clock_summary", span_ns=100 * S)
    for step, length in enumerate(lengths_s):
        trace.given("step_period", **line(step, length, count))


def line(step: int, length_s: int, count: int = 1) -> dict[str, Any]:
    row = {"series": "log", "attempt": 1, "step": step}
    return row | {"step_ns": length_s * S, "step_count": count}


def slowed(trace: Trace, event: int, when: tuple[int, int], *steps: int, **more: Any) -> None:
    start_ns, end_ns = when
    row = {"event": event, "family": "thermal", "clock": "utc", "fallen_share": 0.5}
    row |= {"start_ns": start_ns, "end_ns": end_ns, "dur_ns": end_ns - start_ns}
    trace.given("throttle_event", **(row | {"lost_ns": S if steps else None} | more))
    for step in steps:
        trace.given("throttled_step", event=event, **line(step, 15))


def wall(trace: Trace) -> tuple[object, ...]:
    (row,) = trace.ask("SELECT cost_ns, cost_share, bound_share, is_evident FROM wall_power")
    return row


def test_the_cost_is_spread_over_the_run(trace: Trace) -> None:
    # Two steps of 15 s among eight of 10 s: 10 of 110 s, 1 s per step.
    log(trace, *[10] * 8, 15, 15)
    slowed(trace, 1, ONE, 8, 9)
    assert wall(trace) == (S, 10 / 110, 0.1, False)


def test_lines_of_several_steps_count_as_many(trace: Trace) -> None:
    log(trace, *[10] * 8, 15, 15, count=5)
    slowed(trace, 1, ONE, 8, 9)
    assert wall(trace)[:2] == (S, 10 / 110)


def test_slowdowns_at_once_in_two_places_cost_once(trace: Trace) -> None:
    log(trace, *[10] * 8, 15, 15)
    slowed(trace, 1, ONE, 8, 9)
    slowed(trace, 2, OTHER, 8, 9)
    # From 30 s to 55 s at half the clock.
    assert wall(trace) == (S, 10 / 110, 0.125, False)


def test_a_slowdown_that_costs_nothing(trace: Trace) -> None:
    log(trace, *[10] * 8, 9, 9)
    slowed(trace, 1, ONE, 8, 9)
    assert wall(trace)[:2] == (0, 0)


def test_without_steps_the_clock_is_the_bound(trace: Trace) -> None:
    log(trace)
    slowed(trace, 1, ONE, cost_reason="no steps with a time of day")
    assert wall(trace) == (None, None, 0.1, True)


def test_no_slowdown(trace: Trace) -> None:
    log(trace, 10, 10)
    assert wall(trace)[:2] == (0, 0)


def test_without_clocks_nothing_is_known(trace: Trace) -> None:
    for view in ("throttle_event", "throttled_step", "step_period", "clock_summary", "step_time"):
        trace.stand_in(view)
    trace.given("run_evidence")
    assert wall(trace)[:2] == (None, None)
    assert trace.ask("SELECT reason FROM wall_power") == [("clocks were not sampled",)]


def test_even_work_without_clocks_may_be_slow_all_along(trace: Trace) -> None:
    for view in ("throttle_event", "throttled_step", "step_period", "clock_summary"):
        trace.stand_in(view)
    trace.given("run_evidence")
    for step in range(2):
        trace.given("step_time", step=step, compute_ns=10, kernel_count=3)
    asked = "SELECT cost_share, bound_share, reason FROM wall_power"
    reason = "clocks were not sampled; a slowdown that never ends would not show"
    assert trace.ask(asked) == [(None, 0.0, reason)]


def test_a_moment_without_a_step_does_not_hide_the_others(trace: Trace) -> None:
    log(trace, *[10] * 8, 15, 15)
    slowed(trace, 1, ONE, 8, 9)
    slowed(trace, 2, (70 * S, 72 * S), cost_reason="no step ran inside")
    assert wall(trace)[:2] == (S, 10 / 110)


def test_a_long_one_does(trace: Trace) -> None:
    log(trace, *[10] * 8, 15, 15)
    slowed(trace, 1, ONE, 8, 9)
    slowed(trace, 2, (60 * S, 90 * S), cost_reason="no step ran inside")
    assert wall(trace)[:2] == (None, None)
