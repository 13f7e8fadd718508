"""A made-up job with a GPU that gets too hot: what the store holds is exactly the truth."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.ingest import ingest
from pipeline.store import Store

ASKED = (
    "gpu_sample",
    "ingest_issue",
    "source_file",
    "gpu_event",
    "gpu_counter",
    "clock_window",
    "throttle_event",
    "hardware_error",
    "gpu_energy",
)

SAMPLES = Path(__file__).parents[1] / "sample_traces"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Any]:
    """The truth, and the store's connection."""
    sys.path.insert(0, str(SAMPLES))
    try:
        from dcgm_dmon import write
    finally:
        sys.path.remove(str(SAMPLES))
    about = SAMPLES / "jobs" / "throttled_gpu.dcgm_dmon.toml"
    folder = tmp_path_factory.mktemp("job")
    truth = write(tomllib.loads(about.read_text(encoding="utf-8")), folder / "logs")
    store = Store.create(folder / "store")
    summary = ingest([folder / "logs"], store, jobs=1)
    assert [outcome.kind for outcome in summary.outcomes] == ["stored", "stored"]
    return truth, store.connect(asked=ASKED)


def asked(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def test_every_sample_is_as_it_was_made(job: tuple[dict[str, Any], Any]) -> None:
    truth, connection = job
    expected = sorted(
        (file["host"], gpu_id, metric, at, at * file["interval_ns"], value)
        for file in truth["files"].values()
        for gpu_id, metrics in file["gpus"].items()
        for metric, values in metrics.items()
        for at, value in values
    )
    found = asked(
        connection, "SELECT host, gpu_id, metric, tick, ts_ns, value FROM gpu_sample ORDER BY ALL"
    )
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one[:-1] == other[:-1] and one[-1] == pytest.approx(other[-1], rel=1e-15)


def test_the_torn_last_row_is_told(job: tuple[dict[str, Any], Any]) -> None:
    truth, connection = job
    problems = asked(connection, "FROM ingest_issue SELECT problem, row_count")
    torn = sum(count for problem, count in problems if problem.startswith("the file ends within"))
    assert torn == sum(file["torn_row_count"] for file in truth["files"].values())
    assert asked(connection, "SELECT DISTINCT status FROM source_file") == [("incomplete",)]


def test_the_hot_gpu_shows_in_the_events(job: tuple[dict[str, Any], Any]) -> None:
    truth, connection = job
    hot = truth["throttled"]
    begin, end = hot["rounds"]
    events = asked(
        connection, "SELECT host, gpu_id, tick, kind, value FROM gpu_event ORDER BY tick"
    )
    assert events == [
        (hot["host"], hot["gpu_id"], begin, "clock_event_reasons", 0x48),
        (hot["host"], hot["gpu_id"], begin + 2, "xid", 62.0),
        (hot["host"], hot["gpu_id"], end, "clock_event_reasons", 0x4),
    ]
    slowed = asked(
        connection,
        "SELECT gpu_id, sum(increase_value) FROM gpu_counter"
        " WHERE metric = 'thermal_violation_ns' AND host = 'node1' GROUP BY ALL"
        " HAVING sum(increase_value) > 0",
    )
    assert slowed == [(hot["gpu_id"], (end - begin) * 1e9)]


def test_the_hot_gpu_is_one_event_and_one_error(job: tuple[dict[str, Any], Any]) -> None:
    truth, connection = job
    hot = truth["throttled"]
    begin, end = hot["rounds"]
    rows = asked(connection, "SELECT host, gpu_id, limited_by, first_tick, last_tick"
                 " FROM clock_window")  # fmt: skip
    why = "hardware thermal slowdown"
    assert rows == [(hot["host"], hot["gpu_id"], why, begin, end - 1)]
    events = asked(connection, "SELECT scope, gpu_count, run_gpu_count FROM throttle_event")
    assert events == [("device", 1, 8)]
    errors = asked(connection, "SELECT host, gpu_id, code, severity FROM hardware_error")
    assert errors == [(hot["host"], hot["gpu_id"], 62, "critical")]


def test_energy_by_counter_and_by_power_agree(job: tuple[dict[str, Any], Any]) -> None:
    _, connection = job
    ratios = asked(connection, "SELECT agreement_ratio, coverage_share FROM gpu_energy")
    assert len(ratios) == 8
    for ratio, coverage in ratios:
        assert ratio == pytest.approx(1, abs=0.02) and coverage == 1
