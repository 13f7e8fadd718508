from typing import Any

from rows import Trace

S = 10**9


def logged(trace: Trace, step: int, at: int, **more: Any) -> None:
    row = {"framework": "megatron", "kind": "step", "attempt": 1, "line": step, "step": step}
    trace.insert("training_step", ts_ns=at * S, **{"source_id": "log", **row, **more})


def asked(trace: Trace) -> list[tuple[Any, ...]]:
    columns = "series, step, clock, start_ns // 1000000000, end_ns // 1000000000, step_count"
    return trace.ask(f"SELECT {columns} FROM step_period ORDER BY ALL")


def test_a_line_is_the_end_of_its_step(trace: Trace) -> None:
    trace.file("log", capture_start_utc_ns=100 * S)
    logged(trace, 1, 60, step_ns=60 * S)  # with initialisation
    logged(trace, 2, 63, step_ns=2 * S)
    logged(trace, 3, 67)
    assert asked(trace) == [("log", 2, "utc", 161, 163, 1), ("log", 3, "utc", 163, 167, 1)]


def test_a_line_every_ten_steps(trace: Trace) -> None:
    trace.file("log", capture_start_utc_ns=0)
    logged(trace, 10, 20)
    logged(trace, 20, 40)
    assert asked(trace) == [("log", 20, "utc", 20, 40, 10)]


def test_a_log_without_a_time_of_day(trace: Trace) -> None:
    logged(trace, 1, 1)
    logged(trace, 2, 2)
    assert asked(trace) == []


def test_the_steps_of_a_capture(trace: Trace) -> None:
    for rank in (0, 1):
        where = trace.rank(rank, utc_ns=100 * S)
        for step in (1, 2, 3):
            begin = step * 10 * S
            trace.step(where, begin, begin + 10 * S, f"step {step}")
            trace.launched(where, begin, begin + (8 + rank) * S)
    assert asked(trace) == [
        ("capture", 1, "utc", 110, 119, 1),
        ("capture", 2, "utc", 118, 129, 1),
        ("capture", 3, "utc", 128, 139, 1),
    ]
