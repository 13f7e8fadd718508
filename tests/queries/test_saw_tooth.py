import random
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


def test_random_use_is_no_saw_tooth(trace: Trace) -> None:
    for seed in range(8):
        draw = random.Random(seed)
        trace.rounds(
            gpu_util_share=[draw.uniform(0.2, 1) for _ in range(300)], gpu_id=f"gpu {seed}"
        )
    assert trace.ask("SELECT DISTINCT is_saw_tooth FROM saw_tooth") == [(False,)]


def test_short_low_phases_of_a_long_period(trace: Trace) -> None:
    # One sample in 20: a checkpoint now and then.
    row = used(trace, ([0.9] * 19 + [0.0]) * 10)
    assert (row["is_saw_tooth"], row["period_ns"]) == (True, 20 * S)
    assert (row["low_share"], row["high_share"]) == (0, 0.9)


def test_single_dips_without_a_period(trace: Trace) -> None:
    values = [0.9] * 200
    for place in (10, 17, 60, 130, 180):
        values[place] = 0.0
    assert used(trace, values)["is_saw_tooth"] is False


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
