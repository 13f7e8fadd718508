"""Superbench's monitor: lines of JSON in, samples out."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.ingest import ingest
from pipeline.readers import READERS, sb_monitor
from pipeline.readers.record import Head, Recording
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "dcgm"

LINE = (
    '{"time": "2021-12-06 04:19:35", "cpu_usage": 356.05, "gpu_usage:0": 56, "gpu_usage:1": 50,'
    ' "gpu_temperature:0": 26, "gpu_mem_used:1": 267517952, "gpu_corrected_ecc:0": 12,'
    ' "ib0_receive_bw": 0.1}\n'
)


def read(path: Path, text: str) -> tuple[list[dict[str, Any]], Recording]:
    file = path / "monitor.jsonl"
    file.write_text(text)
    recording = sb_monitor.read(file)
    rows = [row for part in recording.parts for b in part.batches() for row in b.to_pylist()]
    return rows, recording


def test_samples_of_gpus(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, LINE + LINE.replace("04:19:35", "04:19:46"))
    assert [(row["ts_ns"], row["gpu_id"], row["metric"], row["value"]) for row in rows[:5]] == [
        (0, "gpu:0", "gpu_util_share", 0.56),
        (0, "gpu:1", "gpu_util_share", 0.5),
        (0, "gpu:0", "temperature_celsius", 26.0),
        (0, "gpu:1", "fb_used_bytes", 267517952.0),
        (0, "gpu:0", "gpu_corrected_ecc", 12.0),  # of what, it does not say
    ]
    assert rows[5]["ts_ns"] == 11 * 10**9
    assert recording.facts.capture_start_local_ns == 1638764375 * 10**9
    assert [issue.row_count for issue in recording.issues] == [4]  # CPU and network


@pytest.mark.parametrize(
    "line",
    [
        *('{"time": "2021-12-06 04:19:3', '{"time": 5, "gpu_usage:0": 1}', '{"time": []}'),
        '{"time"' + "[" * 5000,
    ],
)
def test_a_torn_line_is_told(tmp_path: Path, line: str) -> None:
    rows, recording = read(tmp_path, f"{LINE}{line}\n")
    assert len(rows) == 5
    assert recording.issues[0].problem.startswith("not a whole line of the monitor")


def test_what_cannot_be_is_left_out(tmp_path: Path) -> None:
    text = LINE.replace(": 56,", ": NaN,").replace(": 50,", ": 1980,").replace(": 26,", ": null,")
    rows, recording = read(tmp_path, text.replace(": 12,", f": 1{'0' * 400},"))
    assert [row["metric"] for row in rows] == ["fb_used_bytes"]
    assert sum(issue.row_count or 0 for issue in recording.issues) == 2 + 4


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        (LINE, True),
        ("INFO starting\n" + LINE, True),
        ('{"time": "2021-12-06 04:19:35", "loss": 3}\n', False),
        ('{"gpu_usage:0": 3}\n', False),
    ],
)
def test_what_is_recognised(text: str, is_it: bool) -> None:
    assert sb_monitor.recognise(Head(text.encode())) is is_it


@pytest.mark.real_traces
@pytest.mark.skipif(not TRACES.exists(), reason="the published logs are not there")
def test_a_published_log() -> None:
    recording = sb_monitor.read(TRACES / "sb_monitor.jsonl")
    rows = [row for part in recording.parts for b in part.batches() for row in b.to_pylist()]
    lines = [json.loads(line) for line in (TRACES / "sb_monitor.jsonl").open()]
    for row, metric, factor in (
        *(("gpu_usage", "gpu_util_share", 0.01), ("gpu_mem_used", "fb_used_bytes", 1)),
        *(("gpu_power_limit", "power_limit_w", 1), ("gpu_mem_total", "fb_total_bytes", 1)),
    ):
        expected = [line[f"{row}:{gpu}"] * factor for line in lines for gpu in range(8)]
        assert [found["value"] for found in rows if found["metric"] == metric] == expected
    others = [path for path in TRACES.iterdir() if path.name != "sb_monitor.jsonl"]
    assert not any(sb_monitor.recognise(Head(path.read_bytes())) for path in others)


def test_a_log_in_a_store(tmp_path: Path) -> None:
    assert sb_monitor in READERS
    (tmp_path / "monitor.jsonl").write_text(LINE)
    store = Store.create(tmp_path / "store")
    (outcome,) = ingest([tmp_path / "monitor.jsonl"], store, jobs=1).outcomes
    assert (outcome.kind, outcome.row_count) == ("stored", 5)


def test_lines_between_samples_are_told(tmp_path: Path) -> None:
    _, recording = read(tmp_path, f"INFO begin\n{LINE}502 Bad Gateway\n{LINE}done\n")
    assert [issue.problem for issue in recording.issues if issue.severity == "warning"] == [
        "a line between those of the monitor: '502 Bad Gateway'"
    ]


@pytest.mark.parametrize(
    "line",
    [
        '{"time": "yesterday", "gpu_usage:0": 5}',
        '{"time": "2021-12-06 04:19:35", "gpu_usage:0": "x5"}',
        '{"time": "2021-12-06 04:19:35", "gpu_usage:0": 56, ',
    ],
)
def test_damaged_lines_alone_are_refused_with_the_first(tmp_path: Path, line: str) -> None:
    assert sb_monitor.recognise(Head(line.encode()))
    rows, recording = read(tmp_path, line + "\n")
    assert rows == [] and recording.refusal and "line 1: " in recording.refusal.problem


def test_samples_without_a_value_are_no_damage(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, '{"time": "2021-12-06 04:19:35", "gpu_usage:0": null}\n')
    assert (rows, recording.refusal) == ([], None)


def test_lines_behind_a_launchers_prefix_are_of_its_host(tmp_path: Path) -> None:
    text = "".join(f"{host}: {LINE}" for host in ("node-1", "node-2"))
    assert sb_monitor.recognise(Head(text.encode()))
    rows, recording = read(tmp_path, text)
    hosts = [(r["host"], r["value"]) for r in rows if r["metric"] == "temperature_celsius"]
    assert hosts == [("node-1", 26.0), ("node-2", 26.0)]
    assert {issue.severity for issue in recording.issues} == {"note"}
