from typing import Any

import pytest
from rows import Trace


def file(trace: Trace, source_id: str, **more: Any) -> None:
    row = {"source_id": source_id, "path": source_id, "size_bytes": 1, "row_count": 1}
    trace.insert("source_file", **{**row, "status": "complete", **more})


def line(trace: Trace, number: int, step: int | None, **more: Any) -> None:
    row = {"source_id": "log", "framework": "megatron", "kind": "step", "attempt": 1}
    trace.insert("training_step", **{**row, "line": number, "step": step, **more})


def column(trace: Trace, name: str) -> list[Any]:
    return [value for (value,) in trace.ask(f"SELECT {name} FROM logged_step ORDER BY line")]


def test_everything(trace: Trace) -> None:
    file(trace, "log", capture_start_utc_ns=10**18)
    trace.insert("job_argument", source_id="log", name="seq_length", value="100", line=1)
    line(trace, 1, 5, ts_ns=0)
    more = {"ts_ns": 3_000_000_000, "step_ns": 2_900_000_000, "global_batch_size": 8}
    line(trace, 2, 6, printed_rank=None, **more)
    assert trace.only("FROM logged_step WHERE step = 6") == {
        "run_id": "run",
        "source_id": "log",
        "framework": "megatron",
        "attempt": 1,
        "line": 2,
        "host": None,
        "rank": None,
        "step": 6,
        "previous_step": 5,
        "is_first": False,
        "step_count": 1,
        "step_ns": 2_900_000_000,
        "end_utc_ns": 10**18 + 3_000_000_000,
        "previous_utc_ns": 10**18,
        "resolution_ns": 1_000_000_000,
        "tokens": 800,
    }


@pytest.mark.parametrize(
    ("offset", "utc_ns"), [(None, None), ("+01:00", 6_400), ("-00:30", 11_800)]
)
def test_a_local_time_needs_its_zone(trace: Trace, offset: str | None, utc_ns: int | None) -> None:
    file(trace, "log", capture_start_local_ns=10_000 * 10**9)
    line(trace, 1, 5, ts_ns=0)
    if offset:
        trace.description("telemetry.utc_offset", offset)
    assert column(trace, "end_utc_ns") == [utc_ns and utc_ns * 10**9]


def test_without_a_printed_time_the_lines_tell_it(trace: Trace) -> None:
    for number, (step, ts_ns) in enumerate([(10, 0), (20, 500), (20, 700)]):
        line(trace, number, step, ts_ns=ts_ns)
    assert column(trace, "step_ns") == [None, 50, None]
    assert column(trace, "step_count") == [None, 10, 0]
    assert column(trace, "resolution_ns") == [1_000_000] * 3


def test_tokens_as_counted(trace: Trace) -> None:
    for number, count in enumerate((1_000, 3_000)):
        line(trace, number, 10 * number, consumed_token_count=count)
    assert column(trace, "tokens") == [None, 200]


def test_validation_is_no_step(trace: Trace) -> None:
    line(trace, 1, 5, kind="validation")
    assert column(trace, "step") == []
