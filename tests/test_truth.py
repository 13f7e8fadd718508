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

    def __init__(self, store: Path, **thresholds: float) -> None:
        views = ("kernel_gap_part", "kernel_gap_cause", "step_time", "device_step")
        kept = catalog.used_repeatedly(views)
        self.connection = Store.open(store).connect(thresholds, kept=kept)

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
    """Every idle interval is a gap."""
    return Asked(sample_store, kernel_gap_ns=0)


@pytest.fixture(scope="module")
def asked_by_default(sample_store: Path) -> Asked:
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


def split_of(rows: list[dict[str, Any]]) -> dict[tuple[int, int], dict[str, int]]:
    """Begin and length of each gap, and the time of each cause in it."""
    found: dict[tuple[int, int], dict[str, int]] = {}
    for row in rows:
        gap = row["gap_start_ns"], row["gap_end_ns"] - row["gap_start_ns"]
        causes = found.setdefault(gap, {})
        causes[row["cause"]] = causes.get(row["cause"], 0) + row["dur_ns"]
    return found


@every_device
@pytest.mark.parametrize("threshold_ns", [0, 10_000])
def test_causes_of_gaps(
    asked: Asked,
    asked_by_default: Asked,
    file: str,
    pid: int,
    device: Truth,
    threshold_ns: int,
) -> None:
    one = asked_by_default if threshold_ns else asked
    where = {"process": pid, "device_id": device["device_id"]}
    assert split_of(one.rows("kernel_gap_part", file, **where)) == {
        (gap["start_ns"], gap["dur_ns"]): gap["split_ns"]
        for gap in device["gaps"]
        if gap["dur_ns"] >= threshold_ns
    }
    expected: dict[str, int] = {}
    for gap in device["gaps"]:
        is_short = gap["dur_ns"] < threshold_ns
        for cause, ns in ({"short_gap": gap["dur_ns"]} if is_short else gap["split_ns"]).items():
            expected[cause] = expected.get(cause, 0) + ns
    found: dict[str, int] = {}
    for row in one.rows("kernel_gap_cause", file, **where):
        found[row["cause"]] = found.get(row["cause"], 0) + row["total_ns"]
    assert found == expected
    assert sum(found.values()) == device["time"]["idle_ns"]


@every_device
def test_launches(asked: Asked, file: str, pid: int, device: Truth) -> None:
    process = next(p for f, p in PROCESSES if f == file and p["pid"] == pid)
    (row,) = asked.rows("launch_summary", file, process=pid, device_id=device["device_id"])
    counts = ("kernel_count", "graph_count", "copy_count", "memset_count")
    works = sum(device["time"][name] for name in counts)
    assert row["activity_count"] == works
    assert row["launched_count"] == works - process["orphan_kernels"]
    assert (row["early_count"], row["is_aligned"]) == (0, True)


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


SPLIT = ("busy", "compute", "communication", "overlap", "exposed_communication", "exposed_memory")


@every_process
def test_split_of_steps(asked: Asked, file: str, process: Truth) -> None:
    """A step of ours begins where the last one's work ends: that much more idle time, no more."""
    steps = [step for step in process["steps"] if "time" in step]
    rows = sorted(asked.rows("step_time", file, process=process["pid"]), key=lambda r: r["step"])
    # The truth lists only ranges that are called so.
    rows = [row for row in rows if (row["name"] or "").startswith("iteration")]
    assert [(row["step"], row["name"]) for row in rows] == [
        (step["step"], step["name"]) for step in steps
    ]
    # The first begins with its range, or where earlier work ends.
    begin_ns = rows[0]["begin_ns"] if steps else 0
    if steps:
        assert steps[0]["start_ns"] <= begin_ns <= steps[0]["all_threads_gpu_start_ns"]
    for row, step in zip(rows, steps, strict=True):
        before_ns = step["all_threads_gpu_start_ns"] - begin_ns
        assert row["begin_ns"] == begin_ns
        begin_ns = step["all_threads_gpu_end_ns"]
        assert row["begin_ns"] + row["step_ns"] == begin_ns
        assert row["idle_ns"] == step["time"]["idle_ns"] + before_ns
        for name in SPLIT:
            assert row[f"{name}_ns"] == step["time"][f"{name}_ns"], name


@every_process
def test_idle_time_of_steps(asked: Asked, file: str, process: Truth) -> None:
    where = {"process": process["pid"]}
    idle: dict[int, int] = {}
    for row in asked.rows("kernel_gap_cause", file, **where):
        if row["step"] is not None:
            idle[row["step"]] = idle.get(row["step"], 0) + row["total_ns"]
    rows = asked.rows("step_time", file, **where)
    # Before anything ran there is no gap.
    found = {row["step"]: row["idle_ns"] - row["lead_in_ns"] for row in rows}
    assert {step: idle_ns for step, idle_ns in found.items() if idle_ns} == idle


TELLING = [(file, process) for file, process in PROCESSES if "nccl_calls" in process]


@pytest.mark.parametrize(("file", "process"), TELLING, ids=[file for file, _ in TELLING])
def test_nccl_calls(asked: Asked, file: str, process: Truth) -> None:
    """Whichever way its payloads were exported."""
    rows = asked.rows("collective_call", file, process=process["pid"])
    rows.sort(key=lambda row: row["start_ns"])
    operations = {
        "ncclCommInitRankConfig": "init", "ncclBroadcast": "broadcast",
        "ncclAllReduce": "all_reduce", "ncclReduceScatter": "reduce_scatter",
        "ncclAllGather": "all_gather",
    }  # fmt: skip
    keys = ("name", "start_ns", "end_ns", "communicator_id", "rank", "rank_count", "device_id")
    keys += ("message_bytes", "reduction", "root", "peer_rank")
    found = [{key: row[key] for key in keys} for row in rows]
    assert found == [{key: call.get(key) for key in keys} for call in process["nccl_calls"]]
    assert [row["operation"] for row in rows] == [operations[row["name"]] for row in rows]
    assert {row["thread"] for row in rows} == {process["pid"]}


ALLOCATING = [(file, process) for file, process in PROCESSES if "memory_events" in process]


@pytest.mark.parametrize(("file", "process"), ALLOCATING, ids=[file for file, _ in ALLOCATING])
def test_allocations(asked: Asked, file: str, process: Truth) -> None:
    rows = asked.rows("memory_usage_event", file, process=process["pid"])
    assert sorted(
        (r["start_ns"], r["operation"], r["memory"], r["bytes"], r["correlation_id"]) for r in rows
    ) == [
        (e["at"], e["operation"], e["memory"], e["bytes"], e["correlation"])
        for e in process["memory_events"]
    ]


# -- counters ------------------------------------------------------------------------------


@every_file
def test_gpu_samples(asked: Asked, file: str) -> None:
    with catalog.reference()["gpu_metric"].open(encoding="utf-8", newline="") as text:
        rows = [row for row in csv.DictReader(text) if row["nsys_name"]]
    known = {name: row for row in rows for name in row["nsys_name"].split("|")}
    found = {row["metric"]: row for row in asked.rows("gpu_sample_summary", file)}
    truth = {
        known[name.split(" [")[0].lower()]["metric"]: (
            float(known[name.split(" [")[0].lower()]["nsys_scale"]),
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


# -- across ranks --------------------------------------------------------------------------

JOBS = {
    path.parent.name: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(SAMPLES.glob("*/truth.json"))
}
CLOCKS_NS = 1_000  # ranks leave up to 900 ns after one another, so clocks are known to that


@pytest.fixture(scope="module", params=["ddp_late_rank", "ddp_healthy", "two_processes_one_file"])
def across(sample_store: Path, request: pytest.FixtureRequest) -> tuple[str, Any]:
    """A job of several ranks, and a connection to it alone."""
    asked = ("collective", "collective_wait", "straggler", "what_if", "rank_difference")
    return request.param, Store.open(sample_store).connect(runs=[request.param], asked=asked)


def dicts(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = connection.execute(sql)
    columns = [column for column, *_ in cursor.description or []]
    return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def test_collectives(across: tuple[str, Any]) -> None:
    job, connection = across
    rows = {(row["process"], row["start_ns"]): row for row in dicts(connection, "FROM collective")}
    truth = JOBS[job]["collectives"]
    assert len(rows) == sum(len(collective["ranks"]) for collective in truth)
    is_one_clock = len(JOBS[job]["files"]) == 1
    for number, collective in enumerate(truth, 1):
        for rank in collective["ranks"]:
            row = rows[rank["pid"], rank["start_ns"]]
            assert (row["step"], row["operation"]) == (collective["step"], collective["operation"])
            assert (row["instance"], row["rank"]) == (number, rank["rank"])
            assert row["rank_count"] == len(collective["ranks"])
            assert row["dur_ns"] == row["wait_ns"] + row["transfer_ns"] + row["tail_ns"]
            assert abs(row["residual_ns"]) <= CLOCKS_NS
            for name in ("wait_ns", "transfer_ns", "tail_ns"):
                assert row[name] == pytest.approx(
                    rank[name], abs=0 if is_one_clock else CLOCKS_NS
                ), (name, number)


def test_who_came_last(across: tuple[str, Any]) -> None:
    job, connection = across
    last = {
        row["instance"]: row["process"]
        for row in dicts(connection, "FROM collective WHERE is_last")
    }
    for number, collective in enumerate(JOBS[job]["collectives"], 1):
        waits = sorted(rank["wait_ns"] for rank in collective["ranks"])
        # Two that come closer together than clocks are known cannot be told apart.
        if waits[1] > 2 * CLOCKS_NS or len(JOBS[job]["files"]) == 1:
            assert last[number] == collective["last_pid"], number


def test_stragglers(across: tuple[str, Any]) -> None:
    job, connection = across
    rows = dicts(connection, "FROM straggler")
    late = JOBS[job]["late"]
    if len(rows) < 4:
        assert {row["verdict"] for row in rows} == {"cannot tell"}
        return
    named = [row for row in rows if row["verdict"] == "straggler"]
    assert [row["rank"] for row in named] == ([late["rank"]] if late else [])
    for row in named:
        assert row["lost_ns"] == pytest.approx(late["lost_ns"], rel=0.001)
        assert row["reason"].startswith("idle: data_loading: ")
        # Late by 4 ms in 3 of 6 steps.
        (difference,) = connection.execute(
            "SELECT difference_ns FROM rank_difference"
            " WHERE rank = ? AND part = 'idle: data_loading'",
            [late["rank"]],
        ).fetchone()
        mean_ns = late["late_by_ns"] * len(late["steps"]) / JOBS[job]["steps"]
        assert difference == pytest.approx(mean_ns, rel=0.001)
    for row in rows:
        if row not in named:
            assert row["lost_share"] < 0.005


def test_what_if_nobody_were_late(across: tuple[str, Any]) -> None:
    job, connection = across
    rows = {row["scenario"]: row for row in dicts(connection, "FROM what_if")}
    late = JOBS[job]["late"]
    saved = rows["no rank waits for another"]["saved_ns"] * JOBS[job]["steps"]
    if late:
        assert saved == pytest.approx(late["lost_ns"], rel=0.001)
    for row in rows.values():
        assert 0 <= row["what_if_ns"] <= row["step_ns"]
