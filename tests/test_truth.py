"""The samples' truth, which no SQL has touched, is what the pipeline says: to the nanosecond."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline import catalog
from pipeline.store import Store

SAMPLES = Path(__file__).parents[1] / "sample_traces"
Truth = dict[str, Any]
FILES: dict[str, Truth] = {
    f"{path.parent.name}/{name}": file
    for path in sorted(SAMPLES.glob("*/truth.json"))
    for name, file in json.loads(path.read_text(encoding="utf-8"))["files"].items()
}
PROCESSES = [(file, process) for file, truth in FILES.items() for process in truth["processes"]]
DEVICES = [(file, p["pid"], device) for file, p in PROCESSES for device in p["devices"]]

every_file = pytest.mark.parametrize("file", FILES)
every_process = pytest.mark.parametrize(
    ("file", "process"), PROCESSES, ids=[f"{file}-{process['pid']}" for file, process in PROCESSES]
)
every_device = pytest.mark.parametrize(
    ("file", "pid", "device"),
    DEVICES,
    ids=[f"{file}-{pid}-{device['device_id']}" for file, pid, device in DEVICES],
)


class Asked:
    """One connection to the samples, asked about one file (``job/name``) at a time."""

    def __init__(self, store: Path) -> None:
        self.connection = Store.open(store).connect({"kernel_gap_ns": 0})

    def rows(self, view: str, file: str, **equal: Any) -> list[dict[str, Any]]:
        job, name = file.split("/")
        sql = f"FROM {view} WHERE run_id = ? AND source_id IN (FROM ids)"
        sql = f"WITH ids AS (SELECT source_id FROM source_file WHERE path = ?) {sql}"
        sql += "".join(f" AND {column} = ?" for column in equal)
        cursor = self.connection.execute(sql, [name, job, *equal.values()])
        columns = [column for column, *_ in cursor.description or []]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


@pytest.fixture(scope="module")
def asked(sample_store: Path) -> Asked:
    return Asked(sample_store)


# -- who and where -------------------------------------------------------------------------


@every_file
def test_files(asked: Asked, file: str) -> None:
    truth = FILES[file]
    (source,) = asked.rows("source_file", file)
    assert source["status"] in ("complete", "unknown")
    assert (source["host"], source["rank"]) == (truth["host"], truth["rank"])
    assert source["schema_version"] == truth["schema_version"]
    assert truth["exporter_version"] in source["tool_version"]
    assert source["capture_start_utc_ns"] == truth["utc_epoch_ns"]
    (run,) = asked.rows("run", file)
    assert (run["world_size"], run["start_utc_ns"]) == (truth["world_size"], truth["utc_epoch_ns"])


@every_process
def test_processes(asked: Asked, file: str, process: Truth) -> None:
    (row,) = asked.rows("process", file, process=process["pid"])
    assert (row["host"], row["rank"]) == (FILES[file]["host"], process["rank"])
    found = {
        (row["device_id"], row["uuid"], row["bus_id"], row["name"])
        for row in asked.rows("device", file, process=process["pid"])
    }
    assert found == {
        (d["device_id"], d["gpu_uuid"], d["pci_bus_id"], d["gpu_name"]) for d in process["devices"]
    }


# -- devices -------------------------------------------------------------------------------


@every_device
def test_time_share(asked: Asked, file: str, pid: int, device: Truth) -> None:
    (row,) = asked.rows("nccl_time_share", file, process=pid, device_id=device["device_id"])
    time = device["time"]
    shared = set(row) & set(time)
    assert {name for name in row if name.endswith(("_ns", "_count"))} == shared
    assert {name: row[name] for name in shared} == {name: time[name] for name in shared}
    shares = {
        "nccl_share_of_kernel_time": (time["nccl_sum_ns"], time["kernel_sum_ns"]),
        "communication_share": (time["communication_ns"], time["span_ns"]),
        "exposed_communication_share": (time["exposed_communication_ns"], time["span_ns"]),
        "overlap_share": (time["overlap_ns"], time["communication_ns"]),
        "busy_share": (time["busy_ns"], time["span_ns"]),
        "idle_share": (time["idle_ns"], time["span_ns"]),
    }
    for name, (part, whole) in shares.items():
        assert row[name] == (part / whole if whole else None), name


KIND = {
    "kernel": "kernel",
    "copy": "memory_copy",
    "memset": "memory_set",
    "graph": "graph_launch",
}


@every_device
def test_gaps(asked: Asked, file: str, pid: int, device: Truth) -> None:
    rows = asked.rows("kernel_gap", file, process=pid, device_id=device["device_id"])
    found = [
        (
            row["start_ns"],
            row["dur_ns"],
            row["before_kind"],
            row["before_name"],
            row["after_kind"],
            row["after_name"],
        )
        for row in sorted(rows, key=lambda row: row["start_ns"])
    ]

    def side(activity: Truth) -> tuple[str, str | None]:
        has_name = activity["kind"] in ("kernel", "copy")
        return KIND[activity["kind"]], activity["name"] if has_name else None

    assert found == [
        (gap["start_ns"], gap["dur_ns"], *side(gap["before"]), *side(gap["after"]))
        for gap in device["gaps"]
    ]
    (summary,) = asked.rows("kernel_gap_summary", file, process=pid, gpu_id=device["gpu_uuid"])
    assert summary["idle_count"] == len(device["gaps"])
    assert summary["idle_ns"] == device["time"]["idle_ns"]


@every_device
def test_kernels(asked: Asked, file: str, pid: int, device: Truth) -> None:
    rows = asked.rows("top_kernel", file, process=pid, device_id=device["device_id"])
    found = {
        row["name"]: {
            "count": row["kernel_count"],
            "total_ns": row["total_ns"],
            "min_ns": row["min_ns"],
            "max_ns": row["max_ns"],
        }
        for row in rows
    }
    assert found == device["kernels"]


@every_device
def test_copies_and_sets(asked: Asked, file: str, pid: int, device: Truth) -> None:
    where = {"process": pid, "device_id": device["device_id"]}
    found = {
        (
            row["kind"],
            row["source_memory"],
            row["destination_memory"],
            row["copy_count"],
            row["bytes"],
            row["total_ns"],
        )
        for row in asked.rows("memory_copy_summary", file, **where)
    }
    assert found == {
        (c["kind"], c["source"], c["target"], c["count"], c["bytes"], c["total_ns"])
        for c in device["copies"]
    }
    sets = asked.rows("memory_set_summary", file, **where)
    for column, name in (("set_count", "count"), ("bytes", "bytes"), ("total_ns", "total_ns")):
        assert sum(row[column] for row in sets) == device["memsets"][name]


# -- hosts ---------------------------------------------------------------------------------


@every_process
def test_calls(asked: Asked, file: str, process: Truth) -> None:
    found = {
        row["name"]: {
            "count": row["call_count"],
            "total_ns": row["total_ns"],
            "min_ns": row["min_ns"],
            "max_ns": row["max_ns"],
        }
        for row in asked.rows("api_summary", file, process=process["pid"])
    }
    assert found == process["api"]


@every_process
def test_ranges(asked: Asked, file: str, process: Truth) -> None:
    rows = asked.rows("nvtx_summary", file, process=process["pid"])
    found = {
        (row["domain"] or "", row["name"]): (
            row["range_count"] + row["open_count"],
            row["open_count"],
            row["total_ns"],
            row["work_count"],
            row["projected_ns"],
        )
        for row in rows
        if row["kind"] != "mark"
    }
    assert found == {
        (r["domain"], r["name"]): (
            r["count"],
            r["open_count"],
            r["total_ns"],
            r["work_count"],
            r["projected_ns"],
        )
        for r in process["nvtx"]
    }
    marks = sum(row["range_count"] for row in rows if row["kind"] == "mark")
    assert marks == process["marks"]


@every_process
def test_steps(asked: Asked, file: str, process: Truth) -> None:
    rows = asked.rows("projected_range", file, process=process["pid"])
    found = {
        (row["name"], row["start_ns"]): (row["end_ns"], row["gpu_start_ns"], row["gpu_end_ns"])
        for row in rows
    }
    for step in process["steps"]:
        projected = step.get("gpu_start_ns"), step.get("gpu_end_ns")
        assert found[step["name"], step["start_ns"]] == (step["end_ns"], *projected)


# -- counters ------------------------------------------------------------------------------


@every_file
def test_gpu_samples(asked: Asked, file: str) -> None:
    with catalog.reference()["gpu_metric"].open(encoding="utf-8", newline="") as text:
        known = {row["nsys_name"]: row for row in csv.DictReader(text)}
    found = {row["metric"]: row for row in asked.rows("gpu_sample_summary", file)}
    truth = {
        known[name.split(" [")[0].lower()]["metric"]: (
            float(known[name.split(" [")[0].lower()]["scale"]),
            samples,
        )
        for name, samples in FILES[file]["gpu_metrics"].items()
    }
    assert set(found) == set(truth)
    for metric, (scale, samples) in truth.items():
        row = found[metric]
        assert row["sample_count"] == samples["count"]
        assert row["min_value"] == pytest.approx(samples["min"] * scale, abs=1e-12)
        assert row["max_value"] == pytest.approx(samples["max"] * scale)
        assert row["mean_value"] == pytest.approx(samples["sum"] * scale / samples["count"])
        rows = sorted(asked.rows("gpu_sample", file, metric=metric), key=lambda row: row["ts_ns"])
        times, values = zip(*samples["first"], strict=True)
        first = rows[: len(times)]
        assert [row["ts_ns"] for row in first] == list(times)
        assert [row["value"] for row in first] == pytest.approx([v * scale for v in values])


# -- across files --------------------------------------------------------------------------

TIMED = ("api_call", "kernel", "memory_copy", "memory_set", "nvtx_range", "profiler_overhead")
TIMED += ("synchronization",)
UNTIMED = ("process", "device", "setting", "kernel_name", "api_name", "nvtx_domain", "gpu_sample")


@pytest.mark.parametrize("table", [*TIMED, *UNTIMED])
def test_a_shift_to_utc_changes_nothing(asked: Asked, table: str) -> None:
    def content(run: str) -> list[str]:
        rows = asked.rows(table, f"{run}/rank0.sqlite.xz")
        return sorted(str({k: v for k, v in row.items() if k != "run_id"}) for row in rows)

    assert content("time_shifted") == content("ddp_healthy")


def parquet_files(store: Path) -> Iterator[Path]:
    yield from sorted(store.rglob("*.parquet"))


def test_secrets_are_kept_nowhere(sample_store: Path) -> None:
    secrets = {text for file in FILES.values() for text in file["must_not_be_kept"]}
    assert secrets
    connection = duckdb.connect()
    found = []
    for file in parquet_files(sample_store):
        (text,) = connection.execute(
            "SELECT string_agg(r::VARCHAR, chr(10)) FROM read_parquet(?) AS r", [str(file)]
        ).fetchall()[0]
        raw = file.read_bytes()
        found += [(file.name, s) for s in secrets if s in (text or "") or s.encode() in raw]
    assert found == []
