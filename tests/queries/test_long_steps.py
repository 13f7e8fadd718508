"""Logged steps in, those that take much longer out."""

from collections.abc import Sequence

from rows import Trace

SQL = "SELECT severity, detail, round(value, 3) FROM long_steps"


def log(trace: Trace, times: Sequence[int | None], source_id: str = "a") -> None:
    for step, step_ns in enumerate(times):
        row = {"framework": "nemo", "attempt": 1, "line": step, "step": step}
        row |= {"step_ns": step_ns, "is_first": step == 0, "source_id": source_id}
        trace.given("logged_step", **row)


def test_every_tenth_step_is_long(trace: Trace) -> None:
    log(trace, [0, *[*[100] * 9, 500] * 3])
    assert trace.ask(SQL) == [("warning", "3 of 30 steps, every 10 steps, from step 10 on", 0.286)]


def test_long_steps_without_an_order(trace: Trace) -> None:
    log(trace, [0, *[100] * 9, 500, *[100] * 3, 500, 100, 500, *[100] * 9])
    ((_, told, _),) = trace.ask(SQL)
    assert told == "3 of 25 steps, from step 10 on"


def test_what_costs_little_or_is_half_of_the_job(trace: Trace) -> None:
    log(trace, [9999, *[100] * 99, 200])
    log(trace, [0, *[100, 100, 300] * 9], "b")
    log(trace, [0, None], "c")
    assert trace.ask(SQL) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    log(trace, [0, *[*[100] * 9, 500] * 3])
    trace.given("training_step_summary", source_id="a", attempt=1)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM long_steps")
    assert len(trace.ask(f"FROM {view} WHERE {evidence}")) == 1
