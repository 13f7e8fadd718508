"""Jobs made for one question each about bandwidth, through the real files and the real ingest."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from pipeline.ingest import ingest
from pipeline.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "sample_traces"))

import make
from description import Job, Operation, load

Change = Callable[[Operation], list[Operation]]
Stored = Callable[[str, Change, str], duckdb.DuckDBPyConnection]
LAST = "5"  # of the job's steps, from 0


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stored:
    monkeypatch.setattr(make.lzma, "compress", lambda content, preset: content)

    def store_of(part: str, change: Change, view: str) -> duckdb.DuckDBPyConnection:
        job: Job = load("ddp_healthy")
        parts = dict(job.programs["train"])
        parts[part] = [new for op in parts[part] for new in change(op)]
        job = replace(job, name="job", programs={"train": parts}, gpu_metrics={})
        make.make(job, tmp_path / "job")
        for file in (tmp_path / "job").glob("*.xz"):
            file.rename(file.with_suffix(""))
        store = Store.create(tmp_path / "store")
        assert ingest([tmp_path / "job"], store, run="job", jobs=1).count("stored") == 4
        return store.connect(asked=[view])

    return store_of


def in_last_step(op: Operation, *instead: Operation) -> list[Operation]:
    """``op`` in every step but the last, which has ``instead``."""
    first = replace(op, settings={**op.settings, "steps": "0,1,2,3,4"})
    return [first, *(replace(i, settings={**i.settings, "steps": LAST}) for i in instead)]


def last_and_others(connection: duckdb.DuckDBPyConnection, columns: str) -> tuple[set[str], ...]:
    """Causes of the collectives of the last step and of the others."""
    sql = f"SELECT step, {columns} FROM collective_efficiency WHERE operation = 'all_reduce'"
    rows = connection.execute(sql).fetchall()
    last = max(step for step, *_ in rows)
    return {cause for step, cause in rows if step == last}, {c for step, c in rows if step < last}


def test_16_times_the_transfer_of_the_same_payload_is_transfer(stored: Stored) -> None:
    def change(op: Operation) -> list[Operation]:
        if op.verb != "collective":
            return [op]
        return in_last_step(op, replace(op, words=(*op.words[:-1], str(16 * int(op.words[-1])))))

    connection = stored("bucket", change, "collective_efficiency")
    assert last_and_others(connection, "cause") == ({"transfer"}, {"none"})


def test_a_late_rank_is_wait(stored: Stored) -> None:
    def change(op: Operation) -> list[Operation]:
        if op.verb != "collective":
            return [op]
        return [Operation("host", ("9000",), {"ranks": "2", "steps": LAST}), op]

    connection = stored("bucket", change, "collective_efficiency")
    assert last_and_others(connection, "cause") == ({"wait"}, {"none"})


def test_a_pinned_copy_of_27_66_gb_per_s_over_an_unknown_link(stored: Stored) -> None:
    def change(op: Operation) -> list[Operation]:
        if op.verb != "copy":
            return [op]
        settings = {**op.settings, "bytes": str(27_660_000_000)}
        return [replace(op, words=("HtoD", "pinned", "device", "1000000"), settings=settings)]

    connection = stored("step", change, "bandwidth_efficiency")
    found = connection.execute(
        "SELECT DISTINCT round(bytes_per_s / 1e9, 2), candidates, efficiency_share, verdict"
        " FROM bandwidth_efficiency WHERE name LIKE 'HtoD pinned%'"
    ).fetchall()
    assert found == [
        (
            27.66,
            "PCIe 4.0 x16: 0.8779 of 31.5 GB/s; PCIe 5.0 x16: 0.4389 of 63.0 GB/s",
            None,
            "unknown",
        )
    ]
