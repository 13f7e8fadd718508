from typing import Any

from pytest import approx
from rows import Trace

S = 10**9


def used(trace: Trace, values: list[float], **more: Any) -> dict[str, Any]:
    trace.rounds(sm_active_share=values, **more)
    return trace.only("FROM saw_tooth")


def test_up_for_seven_down_for_three(trace: Trace) -> None:
    row = used(trace, ([0.9] * 7 + [0.1] * 3) * 10)
    assert (row["period_ns"], row["cycle_count"]) == (10 * S, 8)
    assert (row["depth_share"], row["regularity_share"]) == (approx(0.8), 1)
    assert (row["score"], row["is_saw_tooth"]) == (approx(0.8), True)
    assert row["explanation"] == "unknown"
    assert row["reason"] == "neither a capture nor a log tells of steps"


def test_steady_use(trace: Trace) -> None:
    row = used(trace, [0.9] * 50)
    assert (row["is_saw_tooth"], row["score"], row["explanation"]) == (False, None, None)


def test_noise_is_shallow(trace: Trace) -> None:
    assert used(trace, [0.85, 0.9] * 20)["is_saw_tooth"] is False


def test_two_cycles_are_no_period(trace: Trace) -> None:
    row = used(trace, ([0.9] * 7 + [0.1] * 3) * 3)
    assert (row["period_ns"], row["reason"]) == (None, "fewer than three cycles")


def test_gpu_util_where_the_counters_are_stuck(trace: Trace) -> None:
    trace.rounds(gpu_util_share=([1.0] * 6 + [0.2] * 4) * 10, sm_active_share=0)
    row = trace.only("FROM saw_tooth")
    assert (row["metric"], row["is_saw_tooth"]) == ("gpu_util_share", True)


def test_low_phases_of_a_step_are_its_communication(trace: Trace) -> None:
    where = trace.rank(0)
    for step in range(6):
        begin = step * 10 * S
        trace.step(where, begin, begin + 10 * S, f"step {step}")
        trace.launched(where, begin, begin + 7 * S)
        trace.launched(where, begin + 7 * S, begin + 10 * S, "ncclAllReduce")
    row = used(trace, ([0.9] * 7 + [0.1] * 3) * 10, source_id="b")
    assert (row["step_ns"], row["explanation"]) == (10 * S, "communication")
