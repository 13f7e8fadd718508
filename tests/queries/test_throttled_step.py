from typing import Any

from rows import Trace

S = 10**9


def inside(trace: Trace, **event: Any) -> list[tuple[object, ...]]:
    """Steps of 10 s each, among an event from 28 s to 46 s."""
    row = {"event": 1, "clock": "utc", "is_timed": True, "start_ns": 28 * S, "end_ns": 46 * S}
    trace.given("throttle_group", **(row | event))
    for step in range(6):
        when = {"start_ns": step * 10 * S, "end_ns": (step + 1) * 10 * S}
        trace.given("step_period", clock="utc", series="log", attempt=1, step=step, **when)
    return trace.ask("SELECT event, step FROM throttled_step ORDER BY step")


def test_the_middle_of_a_step_says_where_it_belongs(trace: Trace) -> None:
    # Middles at 35 and 45 s are inside, 25 and 55 s are not.
    assert inside(trace) == [(1, 3), (1, 4)]


def test_other_clocks_do_not_meet(trace: Trace) -> None:
    assert inside(trace, clock="local") == []


def test_rounds_are_no_times(trace: Trace) -> None:
    assert inside(trace, is_timed=False) == []
