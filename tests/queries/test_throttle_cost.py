from typing import Any

from rows import Trace

S = 10**9


def job(trace: Trace, *lengths_s: int, source_id: str = "log") -> None:
    trace.file("a", capture_start_utc_ns=0)
    trace.file(source_id, capture_start_utc_ns=0)
    at = 0
    for step, length in enumerate((0, *lengths_s)):
        at += length
        row = {"framework": "megatron", "kind": "step", "attempt": 1, "line": step}
        when = {"ts_ns": at * S, "step_ns": length * S}
        trace.insert("training_step", source_id=source_id, step=step, **row, **when)


def cost(trace: Trace) -> list[tuple[Any, ...]]:
    columns = "inside_count, outside_count, inside_ns // 1000000000, outside_ns // 1000000000"
    return trace.ask(f"SELECT {columns}, lost_ns // 1000000000 FROM throttle_cost")


def test_inside_and_outside(trace: Trace) -> None:
    # Steps of 10 s; from 30 s on two of 15 s; then two of 10 s again.
    job(trace, 10, 10, 10, 15, 15, 10, 10)
    trace.rounds(10 * S, clock_event_reasons=[0, 0, 0, 64, 64, 64, 0, 0])
    assert cost(trace) == [(2, 5, 15, 10, 10)]


def test_a_second_event_is_not_outside(trace: Trace) -> None:
    job(trace, *[10] * 6, *[20] * 2, *[10] * 12, *[20] * 2)
    masks = [64 if 6 <= at < 10 or 22 <= at < 26 else 0 for at in range(30)]
    trace.rounds(10 * S, clock_event_reasons=masks)
    assert cost(trace) == [(2, 18, 20, 10, 20)] * 2


def test_the_log_with_most_steps_tells(trace: Trace) -> None:
    job(trace, *[10] * 3, *[20] * 2, *[10] * 3)
    job(trace, 30, 40, 30, source_id="coarse")
    trace.rounds(10 * S, clock_event_reasons=[0, 0, 0, 64, 64, 64, 64, 0, 0])
    assert cost(trace) == [(2, 6, 20, 10, 20)]
