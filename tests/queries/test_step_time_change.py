"""Logged steps in, a change of their time out."""

from collections.abc import Sequence

from rows import Trace

SQL = "SELECT subject, detail, value, round(cost_share, 3) FROM step_time_change"


def log(trace: Trace, times: Sequence[int | None], source_id: str = "a", end_ns: int = 0) -> None:
    for step, step_ns in enumerate(times):
        row = {"framework": "megatron", "attempt": 1, "line": step, "step": step}
        row |= {"step_ns": step_ns, "is_first": step == 0, "step_count": 1}
        row["end_utc_ns"] = end_ns + step * 10**9 if end_ns else None
        trace.given("logged_step", source_id=source_id, **row)


def test_steps_that_take_twice_as_long_in_the_second_half(trace: Trace) -> None:
    log(trace, [999, *[100] * 10, *[200] * 10])
    told = "since step 11: 100 ns before, 200 ns after"
    assert trace.ask(SQL) == [("megatron", told, 1.0, 0.333)]


def test_the_time_is_told_where_the_log_has_it(trace: Trace) -> None:
    log(trace, [0, *[100] * 5, *[200] * 5], end_ns=1_600_000_000 * 10**9)
    ((_, told, *_),) = trace.ask(SQL)
    assert told.startswith("since step 6 (2020-09-13 12:26:46 UTC): 100 ns")


def test_every_log_for_itself(trace: Trace) -> None:
    log(trace, [0, *[100] * 10])
    log(trace, [0, *[200] * 10], "b")
    assert trace.ask(SQL) == []


def test_noise_single_long_steps_and_faster_steps_are_no_change(trace: Trace) -> None:
    log(trace, [0, *[100, 130] * 10])
    log(trace, [0, *[100] * 9, 900, *[100] * 9, 900], "b")
    log(trace, [0, *[200] * 10, *[100] * 10], "c")
    log(trace, [0, *[100] * 10, *[105] * 10], "d")
    assert trace.ask(SQL) == []


def test_too_few_steps_afterwards(trace: Trace) -> None:
    log(trace, [0, *[100] * 10, *[200] * 4])
    log(trace, [None], "b")
    log(trace, [0, None, 100], "c")
    assert trace.ask(SQL) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    log(trace, [0, *[100] * 10, *[200] * 10])
    trace.given("training_step_summary", source_id="a", attempt=1)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM step_time_change")
    assert len(trace.ask(f"FROM {view} WHERE {evidence}")) == 1
