"""The sample traces: remade they are the same, and what they say they contain adds up."""

import json
import lzma
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[1] / "sample_traces"
TRUTHS = sorted(SAMPLES.glob("*/truth.json"))
TRACES = sorted(SAMPLES.glob("*/*.sqlite.xz"))

# Columns by which the three generations differ, and tables only one of them has.
KERNEL_2022 = (
    "start end deviceId contextId streamId correlationId globalPid demangledName shortName"
    " mangledName launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY"
    " blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId"
    " sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig"
)
KERNEL_2023 = KERNEL_2022.replace("contextId", "contextId greenContextId")
KERNEL_2025 = (
    f"{KERNEL_2023} qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY"
    " clusterZ clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters"
)
GENERATIONS = {
    "3.0.0": (KERNEL_2022, {"EXPORT_META_DATA"}, {"META_DATA_CAPTURE", "DIAGNOSTIC_EVENT"}),
    "3.7.2": (KERNEL_2023, {"META_DATA_EXPORT"}, {"EXPORT_META_DATA", "DIAGNOSTIC_EVENT"}),
    "3.24.0": (KERNEL_2025, {"META_DATA_EXPORT", "DIAGNOSTIC_EVENT"}, {"EXPORT_META_DATA"}),
}


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(lzma.decompress(path.read_bytes()))
    connection.text_factory = bytes  # some text is not UTF-8, as in real files
    return connection


def dump(path: Path) -> list[Any]:
    """All definitions and all rows."""
    connection = opened(path)
    tables = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY rowid").fetchall()
    return [
        (sql, connection.execute(f'SELECT * FROM "{name.decode()}" ORDER BY rowid').fetchall())
        for name, sql in tables
    ]


def devices(truth: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        device
        for file in truth["files"].values()
        for process in file["processes"]
        for device in process["devices"]
    ]


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample_traces")
    command = [sys.executable, str(SAMPLES / "make.py"), "--output", str(folder)]
    subprocess.run(command, check=True)
    return folder


def test_remaking_changes_nothing(remade: Path) -> None:
    def names(folder: Path) -> list[str]:
        return sorted(name_of(path) for path in folder.glob("*/*.sqlite.xz"))

    assert names(remade) == names(SAMPLES)
    for path in TRACES:
        assert dump(remade / name_of(path)) == dump(path), name_of(path)
    for path in TRUTHS:
        assert (remade / name_of(path)).read_text() == path.read_text(), name_of(path)


@pytest.mark.parametrize("path", TRACES, ids=name_of)
def test_a_trace_is_whole_and_of_its_generation(path: Path) -> None:
    truth = json.loads((path.parent / "truth.json").read_text())["files"][path.name]
    kernel, has, has_not = GENERATIONS[truth["schema_version"]]
    connection = opened(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [(b"ok",)]
    rows = connection.execute("SELECT name FROM sqlite_master").fetchall()
    tables = {name.decode() for (name,) in rows}
    assert has <= tables and not has_not & tables
    counts = {t: connection.execute(f'SELECT count(*) FROM "{t}"').fetchone()[0] for t in tables}
    assert counts == truth["rows"]
    if "CUPTI_ACTIVITY_KIND_KERNEL" in tables:
        info = connection.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")
        assert " ".join(row[1].decode() for row in info) == kernel
    if "META_DATA_EXPORT" in tables:
        last = connection.execute("SELECT name FROM META_DATA_EXPORT ORDER BY rowid DESC")
        assert last.fetchone() == (b"EXPORT_TIME",)


@pytest.mark.parametrize("path", TRUTHS, ids=name_of)
def test_the_times_add_up(path: Path) -> None:
    truth = json.loads(path.read_text())
    for device in devices(truth):
        time, gaps = device["time"], device["gaps"]
        parts = ("compute_ns", "exposed_communication_ns", "exposed_memory_ns", "idle_ns")
        assert sum(time[part] for part in parts) == time["span_ns"]
        assert time["busy_ns"] + time["idle_ns"] == time["span_ns"]
        assert time["overlap_ns"] + time["exposed_communication_ns"] == time["communication_ns"]
        assert 0 <= time["communication_ns"] <= time["kernel_busy_ns"] <= time["busy_ns"]
        assert time["kernel_busy_ns"] <= time["kernel_sum_ns"]
        assert sum(gap["dur_ns"] for gap in gaps) == time["idle_ns"]
        assert all(sum(gap["split_ns"].values()) == gap["dur_ns"] for gap in gaps)
        kernels = device["kernels"].values()
        assert sum(kernel["count"] for kernel in kernels) == time["kernel_count"]
        assert sum(kernel["total_ns"] for kernel in kernels) == time["kernel_sum_ns"]
    for collective in truth["collectives"]:
        assert min(rank["tail_ns"] for rank in collective["ranks"]) >= 0
        for rank in collective["ranks"]:
            parts_ns = rank["wait_ns"] + rank["transfer_ns"] + rank["tail_ns"]
            assert parts_ns == rank["end_ns"] - rank["start_ns"]


def test_the_late_rank_is_late_in_its_steps_only() -> None:
    late = json.loads((SAMPLES / "ddp_late_rank" / "truth.json").read_text())["late"]
    for step, waits in late["wait_ns_by_step_and_rank"].items():
        others = [wait for rank, wait in waits.items() if rank != str(late["rank"])]
        if int(step) in late["steps"]:
            assert min(others) > late["late_by_ns"] * 0.99
        else:
            assert max(waits.values()) < 100_000


def test_ranks_meet_in_their_own_communicators_only() -> None:
    truth = json.loads((SAMPLES / "tp_dp_groups" / "truth.json").read_text())
    met: dict[tuple[str, str], set[tuple[int, ...]]] = {}
    for collective in truth["collectives"]:
        ranks = tuple(rank["rank"] for rank in collective["ranks"])
        key = collective["group"], collective["communicator_id"]
        met.setdefault(key, set()).add(ranks)
    assert sorted((group, *ranks) for (group, _), ranks in met.items()) == [
        ("data", (0, 2)), ("data", (1, 3)), ("tensor", (0, 1)), ("tensor", (2, 3)),
        ("world", (0, 1, 2, 3)),
    ]  # fmt: skip
    counts = Counter(c["communicator_id"] for c in truth["collectives"] if c["group"] == "tensor")
    assert sorted(counts.values()) == [16, 17]  # a layer more in step 1


def test_the_slower_pair_keeps_the_other_waiting() -> None:
    truth = json.loads((SAMPLES / "tp_dp_groups" / "truth.json").read_text())
    scattered = [c for c in truth["collectives"] if c["operation"] == "reduce_scatter"]
    assert len(scattered) == 8 and all(c["last_rank"] in (2, 3) for c in scattered)


def test_a_time_shift_changes_no_truth() -> None:
    shifted, plain = (
        json.loads((SAMPLES / job / "truth.json").read_text())["files"]["rank0.sqlite.xz"]
        for job in ("time_shifted", "ddp_healthy")
    )
    assert shifted.pop("time_shift_ns") == shifted["utc_epoch_ns"]
    assert plain.pop("time_shift_ns") == 0
    assert shifted == plain
