"""The Nsight Systems reader: a few rows of an export in, the rows of our tables out."""

import lzma
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline import catalog
from pipeline.readers import nsys
from pipeline.readers.nsys_counters import canonical
from pipeline.readers.nsys_identity import as_int
from pipeline.readers.record import NotThisFormat, Recording, Refused
from pipeline.readers.sqlite_pages import SqliteFile

ROOT = Path(__file__).parents[2]
TRACES = ROOT.parent / "shared" / "traces"
SAMPLES = sorted((ROOT / "sample_traces").glob("*/*.sqlite.xz"))
REAL = sorted(TRACES.glob("nsys/*.sqlite.xz"))

Row = dict[str, Any]
Made = Callable[..., Path]
GPU = "CUPTI_ACTIVITY_KIND_"
COMPLETE = {"name": "EXPORT_TIME", "value": "0.38 sec"}


def pid(process: int) -> int:
    """A globalPid of hardware 0, VM 1."""
    return 1 << 48 | process << 24


def work(start: Any = 100, end: Any = 200, **more: Any) -> Row:
    """What every activity of a GPU says of itself."""
    place = {"deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 5, "globalPid": pid(10)}
    return {"start": start, "end": end, **place, **more}


def kernel(start: Any = 100, end: Any = 200, **more: Any) -> Row:
    return work(start, end, **{"demangledName": 1, "shortName": 2, **more})


def call(name: int, event_class: int = 0, **more: Any) -> Row:
    call = {"start": 90, "end": 95, "eventClass": event_class, "globalTid": pid(10) + 11}
    return {**call, "correlationId": 5, "nameId": name, "returnValue": 0, **more}


def nvtx(text: str | None = None, kind: int = 59, process: int = 10, **more: Any) -> Row:
    row = {"start": 0, "end": 9, "eventType": kind, "text": text, "textId": None}
    return {**row, "globalTid": pid(process) + 11, "domainId": 0, **more}


def environment(**values: str) -> list[Row]:
    return [
        {"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": f'{key}="{value}"'}
        for key, value in values.items()
    ]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes an export from table=rows; strings 1 and 2 name the kernel. None leaves a table out."""

    def make(name: str = "report.sqlite", **tables: list[Row] | None) -> Path:
        strings = {1: "void gemm<float>(int)", 2: "gemm", 3: "cudaLaunchKernel_v7000"}
        usual: dict[str, list[Row] | None] = {
            "StringIds": [{"id": i, "value": text} for i, text in strings.items()],
            GPU + "KERNEL": [kernel()],
            "META_DATA_EXPORT": [COMPLETE],
        }
        path = tmp_path / name
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as db:
            for table, rows in (usual | tables).items():
                if rows is not None:
                    insert(db, table, rows)
        db.close()
        return path

    return make


def insert(db: sqlite3.Connection, table: str, rows: list[Row]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row)) or ["start"]
    db.execute(f'CREATE TABLE "{table}" ({", ".join(columns)})')
    for row in rows:
        marks = ", ".join("?" * len(row))
        db.execute(f'INSERT INTO "{table}" ({", ".join(row)}) VALUES ({marks})', [*row.values()])


def tables_of(recording: Recording) -> dict[str, pa.Table]:
    """Everything a recording gives, read as ingest does; the types are checked."""
    found: dict[str, list[pa.RecordBatch]] = {}
    try:
        for part in [*recording.parts, *recording.closing_parts]:
            for batch in part.batches():
                batch.validate(full=True)
                assert batch.schema.equals(catalog.arrow_schemas()[part.table])
                found.setdefault(part.table, []).append(batch)
    finally:
        recording.close()
    return {table: pa.Table.from_batches(batches) for table, batches in found.items()}


class Read:
    """A file that was read: rows by table, facts, and issues."""

    def __init__(self, path: Path, name: str | None = None, pieces: int = 1) -> None:
        self.recording = nsys.read(path, name or path.name, pieces)
        self.tables = tables_of(self.recording)
        self.facts = self.recording.facts
        self.issues = {i.problem: i.row_count for i in self.recording.issues}

    def rows(self, table: str, *columns: str) -> list[Any]:
        found = self.tables[table].to_pylist() if table in self.tables else []
        if len(columns) == 1:
            return [row[columns[0]] for row in found]
        return [tuple(row[c] for c in columns) for row in found] if columns else found


def unpacked(path: Path, folder: Path) -> Path:
    file = folder / path.name.removesuffix(".xz")
    file.write_bytes(lzma.decompress(path.read_bytes()))
    return file


# -- rows ----------------------------------------------------------------------------------


def test_a_kernel(made: Made) -> None:
    shape = {"gridX": 2**31 - 1, "gridY": 2, "gridZ": 3, "blockX": 128, "blockY": 1, "blockZ": 1}
    more = {"registersPerThread": 40, "staticSharedMemory": 16, "dynamicSharedMemory": 2**33}
    read = Read(made(**{GPU + "KERNEL": [kernel(-7, 8, **shape, **more, graphNodeId=9)]}))
    [row] = read.rows("kernel")
    [name] = read.rows("kernel_name")
    assert row["name_id"] == name["name_id"]
    assert (name["name"], name["short_name"]) == ("void gemm<float>(int)", "gemm")
    assert (row["start_ns"], row["end_ns"], row["process"]) == (-7, 8, 10)
    assert (row["grid_x"], row["dynamic_shared_memory_bytes"]) == (2**31 - 1, 2**33)
    assert (row["block_x"], row["registers_per_thread"], row["graph_node_id"]) == (128, 40, 9)


def test_every_table_has_its_rows(made: Made) -> None:
    read = Read(
        made(
            **{
                GPU + "MEMCPY": [work(bytes=8, copyKind=1, srcKind=1, dstKind=2)],
                GPU + "MEMSET": [work(bytes=4, value=0, memKind=2)],
                GPU + "GRAPH_TRACE": [work(graphId=3, graphExecId=4)],
                GPU + "RUNTIME": [call(3)],
                GPU + "SYNCHRONIZATION": [work(syncType=3, eventId=2**32 - 1)],
                "PROFILER_OVERHEAD": [
                    {"start": 1, "end": 2, "globalTid": pid(10) + 11, "nameId": 2}
                ],
                "NVTX_EVENTS": [nvtx("step")],
            }
        )
    )
    copy = read.rows("memory_copy", "bytes", "kind", "source_memory", "destination_memory")
    assert copy == [(8, "HtoD", "pinned", "device")]
    assert read.rows("memory_set", "bytes", "memory") == [(4, "device")]
    assert read.rows("graph_launch", "graph_id", "graph_exec_id") == [(3, 4)]
    assert read.rows("api_call", "api", "thread", "return_code") == [("runtime", 11, 0)]
    names = ("cudaLaunchKernel", "cudaLaunchKernel_v7000")
    assert read.rows("api_name", "name", "versioned_name") == [names]
    assert read.rows("synchronization", "kind", "stream_id") == [("stream", 7)]
    assert read.rows("profiler_overhead", "name") == ["gemm"]
    assert read.rows("nvtx_range", "name", "kind") == [("step", "push_pop")]
    assert "CUDA graphs were recorded as a whole: their kernels are not visible" in read.issues


def test_allocations(made: Made) -> None:
    def event(kind: Any, memory: int, **more: Any) -> Row:
        row = {"start": 7, "globalPid": pid(10), "deviceId": 0, "contextId": 1, "address": 4096}
        row |= {"pc": 0, "bytes": 2**40, "memKind": memory, "memoryOperationType": kind}
        return {**row, "name": None, "correlationId": 5, **more}

    rows = [event(0, 2), event(1, 1, correlationId=None), event(0, 5, name="table"), event(9, 7)]
    read = Read(made(CUDA_GPU_MEMORY_USAGE_EVENTS=[*rows, event(0, 2, start=None)]))
    assert read.rows("memory_usage_event", "operation", "memory", "correlation_id", "name") == [
        ("allocate", "device", 5, None),
        ("free", "pinned", None, None),
        ("allocate", "device static", 5, "table"),
        (None, None, 5, None),
    ]
    place = ("start_ns", "process", "device_id", "context_id", "bytes")
    assert read.rows("memory_usage_event", *place) == [(7, 10, 0, 1, 2**40)] * 4
    assert read.issues["rows without a start or end time were left out"] == 1


def test_columns_are_found_by_name_and_may_be_missing(made: Made) -> None:
    least = {"globalPid": pid(10), "end": 2, "shortName": 2, "deviceId": 0, "start": 1}
    [row] = Read(made(**{GPU + "KERNEL": [least]})).rows("kernel")
    assert (row["start_ns"], row["end_ns"], row["device_id"]) == (1, 2, 0)
    assert row["stream_id"] is None and row["grid_x"] is None


def test_an_empty_table_equals_a_missing_one(made: Made) -> None:
    others = (GPU + "MEMCPY", GPU + "RUNTIME", "NVTX_EVENTS", "GPU_METRICS", "TARGET_INFO_GPU")
    empty, missing = Read(made("a.sqlite", **{t: [] for t in others})), Read(made("b.sqlite"))
    assert empty.tables == missing.tables
    assert empty.issues == missing.issues


def test_backtraces_do_not_repeat_a_call(made: Made) -> None:
    calls = [call(3), call(3, event_class=67), call(3, event_class=1, correlationId=6)]
    read = Read(made(**{GPU + "RUNTIME": calls}))
    assert read.rows("api_call", "correlation_id", "api") == [(5, "runtime"), (6, "driver")]


def test_rows_that_cannot_be_are_left_out_and_counted(made: Made) -> None:
    odd = [
        kernel(),
        kernel(end=None),
        kernel(start=None),
        kernel(200, 100),
        kernel(deviceId=None),
        kernel(deviceId=2**40),
        kernel(blockX=2**31),
        kernel(100, 100),
    ]
    read = Read(made(**{GPU + "KERNEL": odd}))
    assert read.rows("kernel", "start_ns", "end_ns", "block_x") == [
        (100, 200, None),
        (100, 200, None),
        (100, 100, None),
    ]
    del read.issues["nothing in the file or its name says which rank this is"]
    assert read.issues == {
        "rows without a start or end time were left out": 2,
        "rows that end before they start were left out": 1,
        "rows without device_id were left out": 2,
        "values too large for block_x were read as NULL": 1,
        "values too large for device_id were read as NULL": 1,
    }


@pytest.mark.parametrize("value", ["text", b"\xff", 1.5])
def test_a_value_of_another_type_is_null_and_counted(made: Made, value: Any) -> None:
    read = Read(made(**{GPU + "KERNEL": [kernel(gridX=value), kernel(gridX=3)]}))
    assert read.rows("kernel", "grid_x") == [None, 3]
    assert read.issues["values of the wrong type in column gridX were read as NULL"] == 1


@pytest.mark.parametrize("name_id", [None, 99, -4, 2**62])
def test_a_name_that_is_not_there_is_unknown(made: Made, name_id: int | None) -> None:
    row = kernel(demangledName=name_id, shortName=name_id)
    read = Read(made(**{GPU + "KERNEL": [row], "NVTX_EVENTS": [nvtx(textId=name_id)]}))
    assert read.rows("kernel_name", "name", "short_name") == [("[Unknown]", None)]
    assert read.rows("nvtx_range", "name") == [None if name_id is None else "[Unknown]"]


def test_names_keep_nul_and_lose_only_invalid_bytes(made: Made) -> None:
    strings = [{"id": 1, "value": "a\0<b>"}, {"id": 2, "value": b"\xffx"}]
    read = Read(made(StringIds=strings))
    assert read.rows("kernel_name", "name", "short_name") == [("a\0<b>", "�x")]


# -- NVTX ----------------------------------------------------------------------------------


def test_nvtx_forms(made: Made) -> None:
    rows = [
        nvtx("inline", 59),
        nvtx(None, 60, textId=2),
        nvtx("mark", 34, end=None),
        nvtx("open", 59, end=None),
        nvtx("nvtxt", 70),
        nvtx("category", 33),
        nvtx("other thread closes", 60, endGlobalTid=pid(10) + 12),
        nvtx("backwards", 59, end=-1),
    ]
    read = Read(made(NVTX_EVENTS=rows))
    assert read.rows("nvtx_range", "name", "kind", "end_ns", "end_thread") == [
        ("inline", "push_pop", 9, None),
        ("gemm", "start_end", 9, None),
        ("mark", "mark", None, None),
        ("open", "push_pop", None, None),
        ("nvtxt", "push_pop", 9, None),
        ("other thread closes", "start_end", 9, 12),
    ]
    assert read.issues["rows that end before they start were left out"] == 1


def test_domains_belong_to_a_process(made: Made) -> None:
    rows = [
        nvtx("NCCL", 75, process=10, domainId=1, end=None),
        nvtx("DALI", 75, process=20, domainId=1, end=None),
        nvtx("range", process=20, domainId=1),
    ]
    read = Read(made(NVTX_EVENTS=rows))
    found = read.rows("nvtx_domain", "process", "domain_id", "name")
    assert found == [(10, 1, "NCCL"), (20, 1, "DALI")]
    assert read.rows("nvtx_range", "process", "domain_id") == [(20, 1)]


# -- time ----------------------------------------------------------------------------------


EPOCH = 1_668_125_677_736_728_256


@pytest.mark.parametrize(
    "shift",
    [
        0,
        -5_000_000,
        EPOCH,
    ],
)
def test_a_shifted_export_equals_the_plain_one(made: Made, shift: int) -> None:
    meta = [{"name": "EXPORT_CONFIG_TIME_SHIFT", "value": str(shift)}, COMPLETE]
    start = [{"utcEpochNs": EPOCH, "utcTime": "", "localTime": ""}]
    read = Read(
        made(
            META_DATA_EXPORT=meta,
            TARGET_INFO_SESSION_START_TIME=start,
            NVTX_EVENTS=[nvtx("r", start=shift + 3, end=shift + 4), nvtx("m", 34, end=None)],
            **{GPU + "KERNEL": [kernel(shift - 1, shift + 7)]},
        )
    )
    assert read.rows("kernel", "start_ns", "end_ns") == [(-1, 7)]
    assert read.rows("nvtx_range", "start_ns", "end_ns") == [(3, 4), (-shift, None)]
    assert read.facts.capture_start_utc_ns == EPOCH


@pytest.mark.parametrize("text", ["9" * 19, "-" + "9" * 19, "9" * 40])
def test_a_number_that_is_no_int64_is_none(text: str) -> None:
    assert as_int(text) is None


# -- GPU metrics ---------------------------------------------------------------------------

METRIC = {"typeId": 0x101, "sourceId": 1, "typeName": "GPU", "metricId": 1}
A_GPU = {"id": 1, "cuDevice": 0, "uuid": "u-1", "busLocation": "0000:03:00.0"}


def sample(value: Any, timestamp: Any = 5, metric: int = 1) -> Row:
    return {"timestamp": timestamp, "typeId": 0x101, "metricId": metric, "value": value}


def test_gpu_metrics_as_rows(made: Made) -> None:
    names = [METRIC | {"metricName": "SM Active"}]
    names += [METRIC | {"metricId": 2, "metricName": "GPC Clock Frequency [MHz]"}]
    samples = [sample(40), sample(-1964454041, metric=2), sample(1, metric=3)]
    read = Read(made(GPU_METRICS=samples, TARGET_INFO_GPU_METRICS=names, TARGET_INFO_GPU=[A_GPU]))
    found = read.rows("gpu_sample", "gpu_id", "device_id", "ts_ns", "metric", "value")
    assert found == [
        ("u-1", 0, 5, "sm_active_share", 0.4),
        ("u-1", 0, 5, "gpc_clock_hz", 2330513255.0),
    ]
    assert read.issues["samples of counters that the export does not name were left out"] == 1


def test_a_sample_without_time_or_value_is_left_out(made: Made) -> None:
    names = [METRIC | {"metricName": "SM Active"}]
    samples = [sample(40, timestamp=None), sample(None), sample(7)]
    read = Read(made(GPU_METRICS=samples, TARGET_INFO_GPU_METRICS=names))
    assert read.rows("gpu_sample", "value") == [0.07]


SOURCES = [{"sourceId": 0x100, "data": '{"Name":"GpuMetrics"}'}]


def generic(data: Any, type_id: int | None = 0x101) -> Row:
    return {"rawTimestamp": 5, "timestamp": None, "typeId": type_id, "data": data}


def test_gpu_metrics_as_json(made: Made) -> None:
    rows = [generic('{"SM Active":"40"}'), generic('{"x":"1"}', 0x999), generic(None)]
    read = Read(made(GENERIC_EVENTS=rows, GENERIC_EVENT_SOURCES=SOURCES, TARGET_INFO_GPU=[A_GPU]))
    found = read.rows("gpu_sample", "gpu_id", "ts_ns", "metric", "value")
    assert found == [("u-1", 5, "sm_active_share", 0.4)]


@pytest.mark.parametrize(
    "odd",
    [generic("{bad"), generic("[1]"), generic('{"x":' + "9" * 30 + "}"), generic("{}", None)],
    ids=["no JSON", "no object", "too large", "no type"],
)
def test_odd_json_is_left_out(made: Made, odd: Row) -> None:
    rows = [odd, generic('{"SM Active":"40"}')]
    read = Read(made(GENERIC_EVENTS=rows, GENERIC_EVENT_SOURCES=SOURCES))
    assert read.rows("gpu_sample", "value") == [0.4]


@pytest.mark.parametrize(
    ("name", "metric", "scale"),
    [
        ("SMs Active [Throughput %]", "sm_active_share", 0.01),
        ("DRAM Read Bandwidth [Throughput %]", "dram_read_share", 0.01),
        ("GPC Clock Frequency", "gpc_clock_hz", 1.0),
        ("Brand New Counter [Throughput %]", "brand_new_counter_share", 0.01),
        ("Some Clock Frequency [MHz]", "some_clock_frequency_hz", 1.0),
    ],
)
def test_counters_have_one_name(name: str, metric: str, scale: float) -> None:
    assert canonical(name) == (metric, scale)


# -- devices -------------------------------------------------------------------------------

NODE = [
    {"id": 0, "name": "A30", "busLocation": "0000:C1:00.0", "uuid": "uuid-zero", "cuDevice": 1},
    {"id": 1, "name": "A30 MIG 2g.12gb", "busLocation": "0000:03:00.0", "uuid": "", "cuDevice": 0},
]


@pytest.mark.parametrize(
    ("more", "gpu"),
    [
        ({}, "0000:03:00.0"),  # by cuDevice, not by id
        ({"META_DATA_CAPTURE": environment(CUDA_VISIBLE_DEVICES="1")}, "uuid-zero"),
        ({"META_DATA_CAPTURE": environment(CUDA_VISIBLE_DEVICES="GPU-uuid-zero,0")}, "uuid-zero"),
        ({"META_DATA_CAPTURE": environment(CUDA_VISIBLE_DEVICES="")}, "0000:03:00.0"),
        ({"TARGET_INFO_CUDA_DEVICE": [{"gpuId": 0, "cudaId": 0, "pid": 10}]}, "uuid-zero"),
        ({"TARGET_INFO_CUDA_DEVICE": [{"gpuId": 0, "cudaId": 0, "pid": 11}]}, "0000:03:00.0"),
        ({"TARGET_INFO_GPU": None}, "10:0"),
    ],
)
def test_a_cuda_ordinal_is_not_the_id_of_a_gpu(made: Made, more: Any, gpu: str) -> None:
    read = Read(made(**{"TARGET_INFO_GPU": NODE, **more}))
    used = [row for row in read.rows("device") if row["process"] == 10]
    assert [(row["device_id"], row["gpu_id"]) for row in used] == [(0, gpu)]
    if more.get("TARGET_INFO_GPU", NODE):
        assert len(read.rows("device")) == 2  # the idle one is told as well


def test_devices_of_2020(made: Made) -> None:
    old = [{"vmId": 1, "deviceId": 0, "name": "V100"}]
    sizes = [{"deviceId": 0, "pid": 10, "globalMemorySize": 16160, "coreClockRate": 1380000}]
    sizes[0] |= {
        "numMultiprocessors": 80, "computeCapabilityMajor": 7, "computeCapabilityMinor": 0
    }  # fmt: skip
    read = Read(made(TARGET_INFO_GPU=old, TARGET_INFO_CUDA_GPU=sizes))
    [row] = read.rows("device")
    assert (row["name"], row["memory_bytes"], row["clock_hz"]) == (
        "V100", 16160 << 20, 1_380_000_000,
    )  # fmt: skip
    assert (row["sm_count"], row["compute_capability"]) == (80, "7.0")


# -- ranks and hosts -----------------------------------------------------------------------


def capture(*arguments: str, **variables: str) -> dict[str, list[Row]]:
    said = [{"name": f"PROCESS_0:ARGUMENT_{n}", "value": a} for n, a in enumerate(arguments)]
    return {"META_DATA_CAPTURE": [*environment(**variables), *said]}


@pytest.mark.parametrize(
    ("tables", "rank", "source"),
    [
        (capture(RANK="3", SLURM_PROCID="9"), 3, "environment RANK"),
        (capture(PALS_RANKID="0", SLURM_PROCID="9"), 9, "environment SLURM_PROCID"),
        (capture(RANK=" 2 "), 2, "environment RANK"),
        (capture(LOCAL_RANK="4"), None, None),
        (capture(RANK="first", OMPI_COMM_WORLD_RANK="6"), 6, "environment OMPI_COMM_WORLD_RANK"),
        (capture("train.py", "--rank", "7"), 7, "argument --rank"),
        (capture("train.py", "--rank=8"), 8, "argument --rank"),
        (capture("train.py", "--rank", "eight", "--local_rank", "1"), None, None),
        (capture("--rank"), None, None),
        ({"MPI_RANKS": [{"globalTid": pid(10) + 10, "rank": 5}]}, 5, "MPI"),
        ({"NVTX_EVENTS": [nvtx("MPI Rank 12", 39, end=None)]}, 12, "MPI"),
    ],
)
def test_rank(made: Made, tables: Any, rank: int | None, source: str | None) -> None:
    read = Read(made(**tables))
    assert read.rows("process", "process", "rank", "rank_source") == [(10, rank, source)]
    assert read.facts.rank == rank


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank10.sqlite", 10),
        ("profile_1234_node_0_rank_3_on_node-b.sqlite", 3),
        ("report_rank7.sqlite", 7),
        ("job-Rank-2/report.sqlite", 2),
        ("a.tar!rank.4.sqlite", 4),
        ("frank3.sqlite", None),
        ("report1.sqlite", None),
        ("ranking.sqlite", None),
    ],
)
def test_rank_by_the_name_of_the_file(made: Made, name: str, rank: int | None) -> None:
    assert Read(made(), name).facts.rank == rank


def test_a_local_rank_in_the_name_is_no_rank(made: Made) -> None:
    assert Read(made(), "node1_local_rank3.sqlite").facts.rank is None


def test_device_environment_and_settings(made: Made) -> None:
    values = "PATH=/bin:/x;RANK=3;WEIRD=a;b=c;NCCL_DEBUG=INFO;NCCL_DEBUG_FILE=/data/a/log;SECRET=s"
    system = [
        {"name": "DeviceEnvironment", "value": values},
        {"name": "Hostname", "value": "node-a"},
        {"name": "NvDriverVersion", "value": "580.65.06"},
        {"name": "TargetInstallDir", "value": "/opt/nvidia/nsight-systems/2025.5.2/target-x"},
    ]
    more = capture(NCCL_DEBUG="WARN", WORLD_SIZE="16", SLURM_JOB_ID="77", SLURM_NNODES="2")
    read = Read(made(TARGET_INFO_SYSTEM_ENV=system, **more))
    assert dict(read.rows("setting", "name", "value")) == {
        "NCCL_DEBUG": "WARN",  # the capture's own rows are the better source
        "NVIDIA_DRIVER_VERSION": "580.65.06",
        "RANK": "3",
        "SLURM_JOB_ID": "77",
        "SLURM_NNODES": "2",
        "WORLD_SIZE": "16",
    }
    assert (read.facts.rank, read.facts.host) == (3, "node-a")
    assert read.facts.capture_version == "2025.5.2"
    assert read.rows("run", "job_id", "world_size", "node_count") == [("77", 16, 2)]


def test_one_environment_is_not_the_rank_of_two_processes(made: Made) -> None:
    both = [kernel(), kernel(globalPid=pid(20), deviceId=1)]
    names = [{"pid": 10, "name": "/usr/bin/python3 train.py --token=x"}, {"pid": 20, "name": None}]
    read = Read(made(PROCESSES=names, **{GPU + "KERNEL": both}, **capture(RANK="0")))
    assert read.rows("process", "process", "name", "rank") == [
        (10, "python3", None),
        (20, "", None),
    ]
    assert read.facts.rank is None
    assert "2 processes used GPUs and nothing says which rank each is" in read.issues


BIG = "20240101120000"


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        (f"rank_{BIG}.sqlite", {}),
        ("a.sqlite", capture(RANK=BIG)),
        ("a.sqlite", capture(WORLD_SIZE=BIG)),
        ("a.sqlite", {"NVTX_EVENTS": [nvtx(f"MPI Rank {BIG}", 39, end=None)]}),
        ("a.sqlite", {"MPI_RANKS": [{"globalTid": pid(10), "rank": int(BIG)}]}),
        ("a.sqlite", {"TARGET_INFO_GPU": [A_GPU | {"smCount": int(BIG)}]}),
        ("a.sqlite", {"TARGET_INFO_GPU": [A_GPU | {"cuDevice": int(BIG)}]}),
    ],
    ids=["file name", "RANK", "WORLD_SIZE", "thread name", "MPI_RANKS", "smCount", "cuDevice"],
)
def test_numbers_too_large_for_their_column(made: Made, name: str, tables: Any) -> None:
    read = Read(made(**tables), name)
    assert read.rows("kernel", "start_ns") == [100]


# -- what is stored of private things --------------------------------------------------------


def test_diagnostics_are_told_without_paths(made: Made) -> None:
    said = [
        {"severity": 2, "text": "cannot open /data/alice/run/x.log: denied"},
        {"severity": 2, "text": "cannot open /data/alice/run/x.log: denied"},
        {"severity": 2, "text": "Unable to collect samples into /data/alice/run: denied"},
        {"severity": 1, "text": "Profiling has started."},
        {"severity": 1, "text": "Some events might be missing."},
    ]
    read = Read(made(DIAGNOSTIC_EVENT=said))
    private = "a message of the profiler that may hold private text is not repeated here"
    assert read.issues[private] == 2
    assert "alice" not in str(read.issues)
    assert read.issues["Some events might be missing."] == 1
    assert "Profiling has started." not in read.issues


# -- completeness and refusal ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("tables", "status"),
    [
        ({}, "complete"),
        ({"META_DATA_EXPORT": [{"name": "EXPORT_SCHEMA_VERSION", "value": "3.7.2"}]}, "incomplete"),
        ({"META_DATA_EXPORT": None, "EXPORT_META_DATA": [COMPLETE]}, "complete"),
        ({"META_DATA_EXPORT": None, "ENUM_X": [{"id": 1}]}, "incomplete"),
        ({"META_DATA_EXPORT": None}, "incomplete"),
        (
            {
                "META_DATA_EXPORT": None,
                "ThreadNames": [{"nameId": 1, "globalTid": pid(10)}],
                "TARGET_INFO_GPU": [A_GPU],
            },
            "complete",
        ),
    ],
)
def test_completeness(made: Made, tables: Any, status: str) -> None:
    read = Read(made(**tables))
    assert read.facts.status == status
    assert any("may be cut short" in problem for problem in read.issues) == (status != "complete")


def test_a_failed_export_is_refused(made: Made) -> None:
    streams = [{"globalPid": 1, "filenameId": 1, "contentId": 2}]
    failed = {GPU + "KERNEL": None, "META_DATA_EXPORT": None, "ProcessStreams": streams}
    with pytest.raises(Refused, match="the export failed"):
        Read(made(**failed, **{GPU + "MEMCPY": []}))


def test_no_gpu_activity_is_said(made: Made) -> None:
    read = Read(made(**{GPU + "KERNEL": None, "NVTX_EVENTS": [nvtx("step")]}))
    assert "no GPU activity was captured" in read.issues
    assert "kernel" not in read.tables and "device" not in read.tables


def test_another_programs_database(made: Made) -> None:
    with pytest.raises(NotThisFormat, match="not an Nsight Systems export"):
        Read(made(StringIds=None))


@pytest.mark.parametrize(
    "strings",
    [[{"key": 1}], [{"id": 1}], [{"id": None, "value": "a"}], [{"id": "one", "value": "a"}]],
    ids=["other columns", "no value", "NULL id", "id is text"],
)
def test_a_string_table_of_another_kind(made: Made, strings: list[Row]) -> None:
    with suppress(NotThisFormat, Refused):
        Read(made(StringIds=strings))


# -- the same rows whichever way they are read -----------------------------------------------


def read_by_driver(path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    with monkeypatch.context() as patch:
        patch.setattr(nsys, "SqliteFile", partial(SqliteFile, driver_only=True))
        return Read(path)


def assert_same_whichever_way(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.stat(), path.read_bytes(), os.listdir(path.parent)
    fast = Read(path)
    slow = read_by_driver(path, monkeypatch)
    assert fast.tables.keys() == slow.tables.keys()
    for table in fast.tables:
        assert sorted_rows(fast.tables[table]).equals(sorted_rows(slow.tables[table])), table
    assert fast.facts == slow.facts
    assert fast.issues.keys() == slow.issues.keys()
    pieces = Read(path, pieces=7)
    for table in fast.tables:
        assert sorted_rows(fast.tables[table]).equals(sorted_rows(pieces.tables[table])), table
    assert pieces.facts == fast.facts
    after = path.stat(), path.read_bytes(), os.listdir(path.parent)
    assert after[0].st_mtime_ns == before[0].st_mtime_ns and after[1:] == before[1:]


def sorted_rows(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.schema.names]).combine_chunks()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_samples_whichever_way(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nsys, "_ROWS_PER_PIECE", 50)
    assert_same_whichever_way(unpacked(sample, tmp_path), monkeypatch)


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL, reason="the published exports are not here")
@pytest.mark.parametrize("real", REAL, ids=lambda path: path.name.split(".")[0])
def test_real_files_whichever_way(
    real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nsys, "_ROWS_PER_PIECE", 1000)
    assert_same_whichever_way(unpacked(real, tmp_path), monkeypatch)


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL, reason="the published exports are not here")
def test_what_a_real_file_is_known_to_hold(tmp_path: Path) -> None:
    [path] = [p for p in REAL if p.name.startswith("nccl_ddp") and "exp2023" in p.name]
    read = Read(unpacked(path, tmp_path))
    assert read.tables["kernel"].num_rows == 22564
    assert read.tables["memory_copy"].num_rows == 2003
    nccl = {r["name_id"] for r in read.rows("kernel_name") if "nccl" in r["name"]}
    spans = [
        (row["end_ns"] - row["start_ns"])
        for row in read.tables["kernel"].select(["start_ns", "end_ns", "name_id"]).to_pylist()
        if row["name_id"] in nccl
    ]
    assert (len(spans), sum(spans)) == (472, 292_789_300)
    assert read.facts.schema_version == "3.7.2"
    assert (read.facts.capture_version, read.facts.status) == ("2022.4.2", "complete")


def test_a_live_write_ahead_log_is_read_and_left_alone(tmp_path: Path, made: Made) -> None:
    path = made()
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = wal")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute(f"INSERT INTO {GPU}KERNEL SELECT * FROM {GPU}KERNEL")
    db.commit()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if not p.name.endswith("-shm")}
    assert before[path.name + "-wal"]
    assert len(Read(path).rows("kernel")) == 2
    after = {p.name: p.read_bytes() for p in tmp_path.iterdir() if not p.name.endswith("-shm")}
    assert after == before
    db.close()


# -- which GPU, which string -----------------------------------------------------------------


def test_one_ordinal_of_two_processes_is_no_one_gpu(made: Made) -> None:
    """Before 2025 nothing says which GPU a process calls 0; each may have one of its own."""
    gpus = [A_GPU, A_GPU | {"id": 2, "cuDevice": 1, "uuid": "u-2"}]
    both = [kernel(), kernel(globalPid=pid(20))]
    read = Read(made(TARGET_INFO_GPU=gpus, **{GPU + "KERNEL": both}))
    used = [row for row in read.rows("device", "process", "gpu_id") if row[0] is not None]
    assert used == [(10, "10:0"), (20, "20:0")]
    assert any("call their GPU by one number" in problem for problem in read.issues)


def test_ids_of_strings_may_be_sparse(made: Made) -> None:
    high = 1 << 28
    strings = [{"id": high + i, "value": f"kernel{i}"} for i in range(3)]
    work = [kernel(demangledName=high + 2, shortName=high), kernel(demangledName=7, shortName=7)]
    read = Read(made(StringIds=strings, **{GPU + "KERNEL": work}))
    assert sorted(read.rows("kernel_name", "name", "short_name")) == [
        ("[Unknown]", None),
        ("kernel2", "kernel0"),
    ]


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("/usr/bin/python3.11", "python3.11"),
        ("/usr/bin/python3 train.py --token=x", "python3"),
        ("/data/alice smith/train --token=x", ""),
        ("./saxpy", "saxpy"),
    ],
)
def test_of_a_command_only_the_program_is_kept(made: Made, command: str, kept: str) -> None:
    read = Read(made(PROCESSES=[{"pid": 10, "name": command}], **{GPU + "KERNEL": [kernel()]}))
    assert read.rows("process", "name") == [kept]
