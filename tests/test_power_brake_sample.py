"""The made-up job under a power brake, in two formats: what is stored is what was simulated."""

import importlib
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.ingest import ingest
from pipeline.store import Store

ASKED = ("gpu_sample", "source_file", "device", "ingest_issue", "throttle_event", "clock_window")

SAMPLES = Path(__file__).parents[1] / "sample_traces"
Sampled = dict[tuple[str, str, str], list[tuple[int, float]]]


def ingested(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], duckdb.DuckDBPyConnection]:
    """The truth about a job, and its files in a store."""
    monkeypatch.syspath_prepend(SAMPLES)
    text = (SAMPLES / f"jobs/power_brake.{name}.toml").read_text(encoding="utf-8")
    truth = importlib.import_module(name).write(tomllib.loads(text), folder / "job")
    store = Store.create(folder / "store")
    assert ingest([folder / "job"], store, jobs=1).count("stored") == len(truth["files"])
    return truth, store.connect(asked=ASKED)


def stored(connection: duckdb.DuckDBPyConnection, file: str) -> Sampled:
    rows = connection.execute(
        "SELECT gpu_id, metric, s.host, device_id, entity, tick, ts_ns, value"
        " FROM gpu_sample AS s JOIN source_file AS f USING (run_id, source_id)"
        " WHERE f.path = ? ORDER BY ts_ns",
        [file],
    ).fetchall()
    found: Sampled = {}
    for gpu_id, metric, host, device_id, entity, tick, ts_ns, value in rows:
        assert (entity, tick) == ("gpu", None)
        found.setdefault((f"{host}/{device_id}", gpu_id, metric), []).append((ts_ns, value))
    return found


def same(found: Sampled, expected: Sampled) -> bool:
    return found.keys() == expected.keys() and all(
        [ts_ns for ts_ns, _ in found[key]] == [ts_ns for ts_ns, _ in samples]
        and [value for _, value in found[key]]
        == pytest.approx([value for _, value in samples], rel=1e-14, abs=0)
        for key, samples in expected.items()
    )


def facts(connection: duckdb.DuckDBPyConnection, column: str) -> dict[str, Any]:
    rows = connection.execute(f"SELECT path, host, tool_version, {column} FROM source_file")
    return {path: tuple(row) for path, *row in rows.fetchall()}


def devices(connection: duckdb.DuckDBPyConnection) -> set[tuple[Any, ...]]:
    columns = "gpu_id, uuid, bus_id, device_id, name, memory_bytes"
    return set(connection.execute(f"SELECT {columns} FROM device").fetchall())


def notes(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    query = "SELECT severity, row_count FROM ingest_issue ORDER BY ALL"
    return connection.execute(query).fetchall()


def test_query_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, connection = ingested("smi_query", tmp_path, monkeypatch)
    for file, told in truth["files"].items():
        # Nothing in a query's CSV names its host.
        expected = {
            (f"None/{gpu['device_id']}", gpu_id, metric): list(
                zip(gpu["ts_ns"], values, strict=True)
            )
            for gpu_id, gpu in told["gpus"].items()
            for metric, values in gpu["metrics"].items()
        }
        assert same(stored(connection, file), expected)
    assert facts(connection, "capture_start_local_ns") == {
        file: (None, told["tool_version"], told["capture_start_local_ns"])
        for file, told in truth["files"].items()
    }
    assert devices(connection) == {
        (gpu_id, gpu_id, gpu["bus_id"], gpu["device_id"], told["name"], told["memory_bytes"])
        for told in truth["files"].values()
        for gpu_id, gpu in told["gpus"].items()
    }
    absent = sorted(told["not_available_count"] for told in truth["files"].values())
    assert notes(connection) == [("note", count) for count in absent]


def test_exporter_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, connection = ingested("prometheus_text", tmp_path, monkeypatch)
    for file, told in truth["files"].items():
        expected = {
            (f"{told['host']}/{gpu['device_id']}", gpu_id, metric): [
                (ts_ns, value) for ts_ns, value in samples
            ]
            for gpu_id, gpu in told["gpus"].items()
            for metric, samples in gpu["metrics"].items()
        }
        assert same(stored(connection, file), expected)
    assert facts(connection, "capture_start_utc_ns") == {
        file: (told["host"], told["tool_version"], told["capture_start_utc_ns"])
        for file, told in truth["files"].items()
    }
    assert devices(connection) == {
        (gpu_id, gpu_id, gpu["bus_id"], gpu["device_id"], told["name"], None)
        for told in truth["files"].values()
        for gpu_id, gpu in told["gpus"].items()
    }
    left_out = [
        row
        for told in truth["files"].values()
        for row in (("note", told["blank_count"]), ("warning", told["glitch_count"]))
    ]
    assert notes(connection) == sorted(left_out)


@pytest.mark.parametrize("name", ["smi_query", "prometheus_text"])
def test_the_brake_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, connection = ingested(name, tmp_path, monkeypatch)
    told = truth["throttled"]
    braked = connection.execute(
        "SELECT DISTINCT gpu_id FROM gpu_sample"
        " WHERE metric = 'clock_event_reasons' AND value::BIGINT & 128 > 0 ORDER BY gpu_id"
    ).fetchall()
    assert [gpu_id for (gpu_id,) in braked] == told["gpu_ids"]
    slowest = connection.execute(
        "SELECT gpu_id IN (SELECT unnest(?)), min(value) FROM gpu_sample"
        " WHERE metric = 'sm_clock_hz' GROUP BY 1 ORDER BY 1",
        [told["gpu_ids"]],
    ).fetchall()
    assert slowest == [(False, told["full_sm_clock_hz"]), (True, told["least_sm_clock_hz"])]


@pytest.mark.parametrize("name", ["smi_query", "prometheus_text"])
def test_the_brake_is_one_event(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, connection = ingested(name, tmp_path, monkeypatch)
    told = truth["throttled"]
    ((cause, gpu_count, dur_ns, least_hz),) = connection.execute(
        "SELECT limited_by, gpu_count, dur_ns, min_clock_hz FROM throttle_event"
    ).fetchall()
    assert (cause, gpu_count) == (told["cause"], len(told["gpu_ids"]))
    assert least_hz == told["least_sm_clock_hz"]
    # GPUs of a host are read some ms after each other.
    assert dur_ns == pytest.approx(told["end_ns"] - told["start_ns"], abs=1e7)
    windows = connection.execute("SELECT gpu_id, start_ns, end_ns FROM clock_window").fetchall()
    assert [gpu_id for gpu_id, *_ in windows] == told["gpu_ids"]
    for _, start_ns, end_ns in windows:
        assert start_ns == pytest.approx(told["start_ns"], abs=1e7)
        assert end_ns == pytest.approx(told["end_ns"], abs=1e7)
