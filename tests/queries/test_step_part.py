from rows import Trace

S = 10**9
ROWS = "SELECT step_ns / 1e9, step_part, rare_part FROM step_part"


def steps(trace: Trace, work: int, communication: int, ranges: str = "") -> None:
    """Steps of 10 s: work, communication, and a rest in which the host does ``ranges``."""
    where = trace.rank(0)
    for step in range(6):
        begin = step * 10 * S
        done = begin + (work + communication) * S
        trace.step(where, begin, begin + 10 * S, f"step {step}")
        trace.launched(where, begin, begin + work * S)
        trace.launched(where, begin + work * S, done, "ncclAllReduce", call_ns=begin)
        if ranges:
            trace.step(where, done, begin + 10 * S, ranges)


def test_communication(trace: Trace) -> None:
    steps(trace, 6, 4)
    assert trace.ask(ROWS) == [(10, "communication", None)]


def test_input(trace: Trace) -> None:
    steps(trace, 5, 1, "next_batch")
    assert trace.ask(ROWS) == [(10, "input", None)]


def test_a_checkpoint(trace: Trace) -> None:
    steps(trace, 5, 1, "save_checkpoint")
    assert trace.ask(ROWS)[0][2] == "checkpoint"


def test_a_log_alone_tells_no_parts(trace: Trace) -> None:
    trace.file("log", capture_start_utc_ns=0)
    for step in (1, 2, 3):
        row = {"framework": "megatron", "kind": "step", "attempt": 1, "line": step}
        when = {"ts_ns": step * S, "step_ns": S}
        trace.insert("training_step", source_id="log", step=step, **row, **when)
    assert trace.ask(ROWS) == [(1, None, None)]
