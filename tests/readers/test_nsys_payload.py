"""NCCL's payloads in Nsight Systems exports: a few bytes in, the rows of collective_call out."""

import json
import lzma
import sqlite3
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import nsys
from pipeline.readers.nsys_calls import operation
from pipeline.readers.record import Refused
from pipeline.readers.sqlite_pages import SqliteFile
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces"

Row = dict[str, Any]
Made = Callable[..., Path]

# As NCCL 2.27 registers them and a 2026.2 export writes them: entries of (type, name, offset),
# where the first one's offset is missing.
COMM = (18, "NCCL communicator ID", None)
SIZE = (22, "Message size [bytes]", 8)
REDUCE_OP = 16777232
INIT, ALL_GATHER, ALL_REDUCE, REDUCE, SEND, SPLIT = (
    16777227, 16777220, 16777221, 16777224, 16777225, 16777229,
)  # fmt: skip
SCHEMAS = {
    INIT: [COMM, (5, "No. of ranks", 8), (5, "Rank", 12), (5, "CUDA device", 16)],
    ALL_GATHER: [COMM, SIZE],
    ALL_REDUCE: [COMM, SIZE, (REDUCE_OP, "Reduction operation", 16)],
    REDUCE: [COMM, SIZE, (5, "Root", 16), (REDUCE_OP, "Reduction operation", 20)],
    SEND: [COMM, SIZE, (5, "Peer rank", 16)],
    SPLIT: [
        COMM, (18, "Parent NCCL communicator ID", 8), (5, "No. of ranks", 16), (5, "Rank", 20),
        (5, "CUDA device", 24), (5, "Color", 28), (5, "Key", 32),
    ],
}  # fmt: skip
WORLD = 0xF00DFACE12345678  # beyond 2^63, as half of all ids are
SEEN = ("operation", "communicator_id", "message_bytes", "reduction")


def entries(schemas: dict[int, Any], domain: int = 1, index_from: int = 0) -> list[Row]:
    return [
        {"domainId": domain, "schemaId": schema, "idx": index_from + i, "flags": None,
         "type": kind, "name": name, "offset": offset}
        for schema, wanted in schemas.items()
        for i, (kind, name, offset) in enumerate(wanted)
    ]  # fmt: skip


def blob(schema: int, layout: str, *values: int, domain: int = 1) -> bytes:
    payload = struct.pack(f"<{layout}", *values)
    return struct.pack("<4Q", domain, schema, len(payload), 32) + payload


def ring(text: str | None, process: int = 10, **more: Any) -> Row:
    """An NVTX range."""
    row = {"start": 5, "end": 9, "eventType": 59, "text": text, "textId": None, "domainId": 1}
    ids = {"globalTid": 1 << 48 | process << 24 | 11, "jsonTextId": None, "jsonText": None}
    return {**row, **ids, "binaryData": None, **more}


def all_reduce(size: int = 4096, op: int = 0, **more: Any) -> Row:
    data = blob(ALL_REDUCE, "QQi4x", WORLD, size, op)
    return ring("ncclAllReduce", **{"binaryData": data, **more})


def init(rank: int, ranks: int, process: int = 10, comm: int = WORLD, **more: Any) -> Row:
    data = blob(INIT, "Qiii4x", comm, ranks, rank, rank % 8)
    return ring("ncclCommInitRankConfig", process, binaryData=data, **more)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes an export with these NVTX_EVENTS; other tables by name."""

    def make(*ranges: Row, name: str = "report.sqlite", **tables: list[Row]) -> Path:
        return export(tmp_path / name, list(ranges), **tables)

    return make


def export(path: Path, ranges: list[Row], **tables: list[Row]) -> Path:
    meta = [{"name": "EXPORT_TIME", "value": "0.38 sec"}]
    usual = {
        "StringIds": [{"id": 1, "value": "gemm"}, {"id": 2, "value": "ncclAllReduce"}],
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": entries(SCHEMAS),
        "NVTX_EVENTS": ranges,
        "META_DATA_EXPORT": meta,
    }
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as db:
        for table, rows in (usual | tables).items():
            columns = list(dict.fromkeys(key for row in rows for key in row)) or ["start"]
            types = (f"{c} TEXT" if c == "binaryData" else c for c in columns)
            db.execute(f'CREATE TABLE "{table}" ({", ".join(types)})')
            for row in rows:
                marks = ", ".join("?" * len(row))
                db.execute(
                    f'INSERT INTO "{table}" ({", ".join(row)}) VALUES ({marks})', [*row.values()]
                )
    db.close()
    return path


class Read:
    """A file that was read: its calls, its processes, and issues."""

    def __init__(self, path: Path, name: str | None = None, pieces: int = 1) -> None:
        recording = nsys.read(path, name or path.name, pieces)
        found: dict[str, list[Row]] = {}
        for part in [*recording.parts, *recording.closing_parts]:
            for batch in part.batches():
                batch.validate(full=True)
                found.setdefault(part.table, []).extend(batch.to_pylist())
        recording.close()
        self.tables, self.facts = found, recording.facts
        self.issues = {i.problem: i.row_count for i in recording.issues}
        self.unread = next((p for p in self.issues if "payloads of NCCL could not" in p), None)

    def calls(self, *columns: str) -> list[Any]:
        rows = self.tables.get("collective_call", [])
        if not columns:
            return rows
        return [tuple(r[c] for c in columns) if len(columns) > 1 else r[columns[0]] for r in rows]

    def ranks(self) -> dict[int, tuple[int | None, str | None]]:
        return {r["process"]: (r["rank"], r["rank_source"]) for r in self.tables["process"]}


# -- blobs ---------------------------------------------------------------------------------


def test_a_call(made: Made) -> None:
    [row] = Read(made(all_reduce(4096))).calls()
    assert row == {
        "start_ns": 5, "end_ns": 9, "process": 10, "thread": 11, "name": "ncclAllReduce",
        "operation": "all_reduce", "communicator_id": "0xf00dface12345678", "rank": None,
        "rank_count": None, "device_id": None, "message_bytes": 4096, "reduction": "Sum",
        "root": None, "peer_rank": None,
    }  # fmt: skip


def test_values_are_read_by_type_and_place(made: Made) -> None:
    garbage = b"\xff" * 4  # padding, which is no part of the value before it
    payloads = [
        ("ncclCommInitRank", blob(INIT, "Qiii", 7, 4, 3, 2) + garbage),
        ("ncclReduce", blob(REDUCE, "QQii", 7, 2**40, 1, 2)),
        ("ncclSend", blob(SEND, "QQi", 7, 0, 3) + garbage),
    ]
    read = Read(made(*(ring(name, binaryData=data) for name, data in payloads)))
    columns = ("rank", "rank_count", "device_id", "message_bytes", "root", "reduction", "peer_rank")
    assert read.calls(*columns) == [
        (3, 4, 2, None, None, None, None),
        (None, None, None, 2**40, 1, "Max", None),
        (None, None, None, 0, None, None, 3),
    ]
    assert read.calls("communicator_id") == ["0x0000000000000007"] * 3
    assert read.unread is None


def test_a_missing_offset_is_where_c_would_put_it(made: Made) -> None:
    odd = [(5, "Root", None), COMM, (12, "Peer rank", None), (22, "Message size [bytes]", None)]
    data = blob(99, "i4xQB7xQ", 6, WORLD, 5, 64)
    tables = {"NVTX_PAYLOAD_SCHEMA_ENTRIES": entries({99: odd})}
    read = Read(made(ring("ncclBroadcast", binaryData=data), **tables))
    assert read.calls("root", "communicator_id", "peer_rank", "message_bytes") == [
        (6, f"0x{WORLD:x}", 5, 64)
    ]


def test_an_entry_after_one_of_unknown_size_is_not_guessed(made: Made) -> None:
    odd = [COMM, (75, "Text", None), (5, "Root", None), (5, "Peer rank", 24)]
    data = blob(99, "QQQi", WORLD, 0, 0, 8)
    tables = {"NVTX_PAYLOAD_SCHEMA_ENTRIES": entries({99: odd})}
    read = Read(made(ring("ncclSend", binaryData=data), **tables))
    assert read.calls("root", "peer_rank") == [(None, 8)]


def test_schemas_come_once_per_process(made: Made) -> None:
    twice = {"NVTX_PAYLOAD_SCHEMA_ENTRIES": entries(SCHEMAS) * 2}
    read = Read(made(all_reduce(), all_reduce(process=20), **twice))
    assert read.calls("process", "message_bytes") == [(10, 4096), (20, 4096)]


def test_an_enumeration_names_its_values(made: Made) -> None:
    names = [
        {"domainId": 1, "schemaId": REDUCE_OP, "idx": i, "name": name, "value": value}
        for i, (name, value) in enumerate([("Sum", 0), ("Premul", 7), ("Premul", 7)])
    ]
    sizes = [{"domainId": 1, "schemaId": REDUCE_OP, "size": 4}]
    tables = {"NVTX_PAYLOAD_ENUM_ENTRIES": names, "NVTX_PAYLOAD_ENUMS": sizes}
    read = Read(made(all_reduce(op=0), all_reduce(op=7), all_reduce(op=1), **tables))
    assert read.calls("reduction") == ["Sum", "Premul", None]
    assert read.issues["reductions without a name, made by the program, were read as NULL"] == 1


@pytest.mark.parametrize(("op", "name"), [(0, "Sum"), (4, "Avg"), (5, None), (-1, None)])
def test_without_an_enumeration_the_names_are_nccls(made: Made, op: int, name: str | None) -> None:
    assert Read(made(all_reduce(op=op))).calls("reduction") == [name]


def test_what_is_not_there_is_no_number(made: Made) -> None:
    payloads = [
        ring("ncclSend", binaryData=blob(SEND, "QQi4x", 0, 2**64 - 1, -1)),
        all_reduce(),
    ]
    read = Read(made(*payloads))
    assert read.calls("communicator_id", "message_bytes", "peer_rank")[0] == (None, None, None)
    assert read.issues["values in payloads of NCCL that cannot be were read as NULL"] == 1


def test_older_nccl_names_no_communicator(made: Made) -> None:
    old = {16777221: [(22, "Message size [bytes]", None), (16777227, "Reduction operation", 8)]}
    tables = {"NVTX_PAYLOAD_SCHEMA_ENTRIES": entries(old)}
    data = blob(16777221, "Qi4x", 64, 3)
    read = Read(made(ring("ncclAllReduce", binaryData=data), **tables))
    assert read.calls(*SEEN) == [("all_reduce", None, 64, "Min")]


def test_a_split_tells_the_rank_in_the_parent(made: Made) -> None:
    data = blob(SPLIT, "QQiiiii4x", 5, WORLD, 4, 3, 1, 0, 0)
    read = Read(made(ring("ncclCommSplit", binaryData=data)))
    columns = ("operation", "communicator_id", "rank", "rank_count", "device_id")
    assert read.calls(*columns) == [("split", "0x0000000000000005", None, None, 1)]
    assert read.ranks() == {10: (3, "NCCL communicator of 4 ranks")}


@pytest.mark.parametrize("changed", [{"domainId": 2}, {"type": 17}], ids=["domain", "type"])
def test_schemas_of_two_processes_may_differ(made: Made, changed: Row) -> None:
    other = [row | changed for row in entries({ALL_REDUCE: SCHEMAS[ALL_REDUCE]})]
    read = Read(made(all_reduce(), **{"NVTX_PAYLOAD_SCHEMA_ENTRIES": entries(SCHEMAS) + other}))
    if "domainId" in changed:
        assert read.calls(*SEEN[2:]) == [(4096, "Sum")]
    else:  # and nothing says whose is whose
        assert read.calls() == []
        assert read.unread == "payloads of NCCL could not be read: 1 of an unknown schema"


# -- blobs that cannot be read ---------------------------------------------------------------

GOOD = all_reduce()["binaryData"]
BAD = {
    "nothing": (b"", "too short"),
    "half a header": (GOOD[:31], "too short"),
    "half a payload": (GOOD[:40], "too short"),
    "one byte short": (GOOD[:51], "too short"),
    "a size of 0": (struct.pack("<4Q", 1, ALL_REDUCE, 0, 32) + GOOD[32:], "too short"),
    "a huge size": (struct.pack("<4Q", 1, ALL_REDUCE, 2**64 - 8, 32) + GOOD[32:], "too short"),
    "a huge offset": (struct.pack("<4Q", 1, ALL_REDUCE, 24, 2**64 - 8) + GOOD[32:], "too short"),
    "into the header": (struct.pack("<4Q", 1, ALL_REDUCE, 24, 8) + GOOD[32:], "too short"),
    "unknown schema": (blob(77, "QQi4x", WORLD, 1, 0), "of an unknown schema"),
    "huge schema": (blob(2**64 - 1, "QQi4x", WORLD, 1, 0), "of an unknown schema"),
    "other domain": (
        blob(ALL_REDUCE, "QQi4x", WORLD, 1, 0, domain=2), "of another domain than the range",
    ),
    "huge domain": (
        blob(ALL_REDUCE, "QQi4x", 7, 1, 0, domain=2**64 - 1), "of another domain than the range",
    ),
    "text": ("no blob", "too short"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_blob_is_counted(made: Made, bad: str) -> None:
    data, reason = BAD[bad]
    read = Read(made(all_reduce(1), all_reduce(binaryData=data), all_reduce(2)))
    assert read.calls("message_bytes") == [1, 2]
    assert read.unread == f"payloads of NCCL could not be read: 1 {reason}"
    assert read.issues[read.unread] == 1
    assert len(read.tables["nvtx_range"]) == 3


def test_payloads_of_other_libraries_are_left_alone(made: Made) -> None:
    others = {16777216: [(5, "Rank", None), (5, "Rows", 4)]}
    tables = {"NVTX_PAYLOAD_SCHEMA_ENTRIES": entries(SCHEMAS) + entries(others, domain=2)}
    rows = [
        ring("gemm", domainId=2, binaryData=blob(16777216, "ii", 1, 2, domain=2)),
        ring("gemm", domainId=2, binaryData=b"short"),
        ring("gemm", domainId=3, binaryData=blob(5, "ii", 1, 2, domain=3)),
        ring("gemm", domainId=3, jsonText='{"Rank": 1}'),
        ring("mark", eventType=34, end=None, binaryData=GOOD),
        ring("domain", eventType=75, end=None, binaryData=GOOD),
    ]
    read = Read(made(*rows, **tables))
    assert read.calls() == [] and read.unread is None


def test_ranges_that_are_open_backwards_or_shifted(made: Made) -> None:
    meta = [{"name": "EXPORT_CONFIG_TIME_SHIFT", "value": "1000"}]
    meta += [{"name": "EXPORT_TIME", "value": "1"}]
    odd = [{"end": None}, {"end": 999}, {"start": None}, {"globalTid": None}]
    rows = [all_reduce(**{"start": 1005, "end": 1009, **more}) for more in odd]
    read = Read(made(*rows, META_DATA_EXPORT=meta))
    assert read.calls("start_ns", "end_ns", "process") == [(5, None, 10), (5, 9, None)]
    assert read.issues["rows that end before they start were left out"] == 1
    assert read.issues["rows without a start or end time were left out"] == 1


def test_a_registered_name(made: Made) -> None:
    read = Read(made(*(all_reduce() | {"text": None, "textId": name} for name in (2, None))))
    assert read.calls("name", "operation") == [("ncclAllReduce", "all_reduce"), (None, None)]


@pytest.mark.parametrize("schemas", [[], entries({5: [(5, "Rank", None)]})])
def test_an_export_without_nccls_schemas(made: Made, schemas: list[Row]) -> None:
    read = Read(made(all_reduce(), NVTX_PAYLOAD_SCHEMA_ENTRIES=schemas))
    assert "collective_call" not in read.tables and not read.unread


def test_payloads_that_were_not_exported_are_said(made: Made) -> None:
    problem = "communicators and message sizes of NCCL's calls were not exported"
    assert problem in Read(made(all_reduce(binaryData=None))).issues
    assert problem not in Read(made(all_reduce())).issues


# -- JSON ----------------------------------------------------------------------------------


def as_json(**values: Any) -> str:
    names = {"comm": COMM[1], "size": SIZE[1], "op": "Reduction operation", "rank": "Rank"}
    return json.dumps({names.get(key, key): value for key, value in values.items()})


@pytest.mark.parametrize(
    "text",
    [
        as_json(comm=f"{WORLD:,}", size="4,096", op="Sum"),
        as_json(comm=str(WORLD), size="4096", op="Sum", Extra=None, More={"a": [1]}),
        as_json(comm=WORLD, size=4096, op=0),
        as_json(comm=WORLD - 2**64, size=4096, op="0"),
        as_json(comm=hex(WORLD), size=4096, op="Sum"),
    ],
)
def test_json_says_the_same_as_a_blob(made: Made, text: str) -> None:
    strings = [{"id": 2, "value": "ncclAllReduce"}, {"id": 3, "value": text}]
    rows = [
        all_reduce(),
        all_reduce(binaryData=None, jsonText=text),
        all_reduce(binaryData=None, jsonTextId=3),
        all_reduce(jsonText=as_json(comm=1, size=1)),  # a blob is the better source
    ]
    read = Read(made(*rows, StringIds=strings))
    assert read.calls(*SEEN) == [("all_reduce", f"0x{WORLD:x}", 4096, "Sum")] * 4
    assert read.unread is None


def test_json_of_every_kind_of_call(made: Made) -> None:
    payloads = {
        "ncclCommInitRank": {COMM[1]: "5", "No. of ranks": "2", "Rank": "1", "CUDA device": "0"},
        "ncclBroadcast": {COMM[1]: "5", SIZE[1]: "0", "Root": "1"},
        "ncclRecv": {COMM[1]: "5", SIZE[1]: "12,345,678", "Peer rank": "1"},
    }
    rows = [ring(name, jsonText=json.dumps(payload)) for name, payload in payloads.items()]
    columns = ("operation", "rank", "rank_count", "device_id", "message_bytes", "root", "peer_rank")
    assert Read(made(*rows)).calls(*columns) == [
        ("init", 1, 2, 0, None, None, None),
        ("broadcast", None, None, None, 0, 1, None),
        ("recv", None, None, None, 12345678, None, 1),
    ]


@pytest.mark.parametrize(
    ("size", "odd"),
    [("1,23", 1), ("1.5", 1), (1.5, 1), ("", 1), (True, 1), ([1], 1), (10**40, 1), ("9" * 20, 1),
     (None, 0), (-1, 0), ("٤", 1)],
)  # fmt: skip
def test_a_value_of_json_that_is_no_number(made: Made, size: Any, odd: int) -> None:
    text = as_json(comm="7", size=size, op="\ud800")
    read = Read(made(ring("ncclAllReduce", jsonText=text)))
    assert read.calls(*SEEN) == [("all_reduce", "0x0000000000000007", None, None)]
    issue = "values in payloads of NCCL that cannot be were read as NULL"
    assert read.issues.get(issue, 0) == odd


@pytest.mark.parametrize(
    "text",
    ['{"NCCL communicator ID": ', '["NCCL communicator ID"', '{"NCCL communicator ID":' * 9999],
)
def test_broken_json_is_counted(made: Made, text: str) -> None:
    read = Read(made(ring("ncclAllReduce", jsonText=text), all_reduce()))
    assert read.calls("message_bytes") == [4096]
    assert read.unread == "payloads of NCCL could not be read: 1 no JSON"


def test_json_may_come_without_schemas(made: Made) -> None:
    said = [{"name": "EXPORT_PARAM_INCLUDE_JSON", "value": "true"}]
    said += [{"name": "EXPORT_TIME", "value": "1"}]
    row = ring("ncclAllReduce", jsonText=as_json(comm="7", size="8"))
    tables = {"META_DATA_EXPORT": said, "NVTX_PAYLOAD_SCHEMA_ENTRIES": []}
    assert Read(made(row, **tables)).calls("message_bytes") == [8]


# -- names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_of"),
    [
        ("ncclAllReduce", "all_reduce"),
        ("AllReduce", "all_reduce"),  # with advanced tracing
        ("ncclReduceScatter", "reduce_scatter"),
        ("ncclAlltoAll", "all_to_all"),
        ("ncclAllGatherConfig", "all_gather"),
        ("ncclCommInitRankConfig", "init"),
        ("ncclCommInitRankScalable", "init"),
        ("ncclCommDestroy", "destroy"),
        ("ncclGroupEnd", None),
        ("GroupLaunch", None),
        ("", None),
    ],
)
def test_operations(name: str, is_of: str | None) -> None:
    assert operation(name) == is_of


# -- ranks ---------------------------------------------------------------------------------


def environment(**values: str) -> dict[str, list[Row]]:
    rows = [
        {"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": f'{key}="{value}"'}
        for key, value in values.items()
    ]
    return {"META_DATA_CAPTURE": rows}


FOUR = (10, 20, 30, 40)
TENSOR = [init(rank % 2, 2, process, comm=5 + rank // 2) for rank, process in enumerate(FOUR)]


def test_ranks_of_the_processes_of_one_file(made: Made) -> None:
    world = [init(rank, 4, process) for rank, process in enumerate(FOUR)]
    found = Read(made(*TENSOR, *world)).ranks()
    source = "NCCL communicator of 4 ranks"
    assert found == {process: (rank, source) for rank, process in enumerate(FOUR)}


@pytest.mark.parametrize(
    ("ranges", "tables"),
    [
        (TENSOR, {}),  # two communicators of the largest size: none is of all
        (TENSOR, environment(WORLD_SIZE="4")),
        ([init(0, 2), init(1, 2, comm=9)], {}),
        ([init(0, 1)], {}),
        ([init(3, 3)], {}),
        ([init(0, 2), init(0, 2, 20)], {}),
        ([init(0, 2), init(1, 2)], {}),
    ],
    ids=["groups", "groups of a known world", "two of a process", "alone", "rank too large",
         "a rank twice", "two ranks of a process"],
)  # fmt: skip
def test_a_rank_in_some_group_is_no_global_rank(
    made: Made, ranges: list[Row], tables: dict[str, list[Row]]
) -> None:
    assert all(rank is None for rank, _ in Read(made(*ranges, **tables)).ranks().values())


@pytest.mark.parametrize(
    ("name", "tables", "rank", "source"),
    [
        ("a.sqlite", environment(RANK="7"), 7, "environment RANK"),
        ("a.sqlite", {"MPI_RANKS": [{"globalTid": 10 << 24, "rank": 6}]}, 6, "MPI"),
        ("rank5.sqlite", {"MPI_RANKS": [{"globalTid": 10 << 24, "rank": 6}]}, 6, "MPI"),
        ("a.sqlite", {}, 3, "NCCL communicator of 8 ranks"),
        ("rank5.sqlite", {}, 5, "file name"),  # the communicator may be of some ranks only
        ("rank5.sqlite", environment(WORLD_SIZE="8"), 3, "NCCL communicator of 8 ranks"),
        ("rank5.sqlite", environment(WORLD_SIZE="16"), 5, "file name"),
    ],
)
def test_the_best_source_of_a_rank(
    made: Made, name: str, tables: dict[str, list[Row]], rank: int, source: str
) -> None:
    read = Read(made(init(3, 8), **tables), name)
    assert read.ranks() == {10: (rank, source)}
    assert read.facts.rank == rank


def test_a_group_of_some_processes_is_not_the_whole_job(made: Made) -> None:
    """Only one pair of the four made its communicator while the capture ran."""
    kernels = [
        {"start": 1, "end": 2, "deviceId": rank, "globalPid": 1 << 48 | process << 24}
        | {"contextId": 1, "streamId": 7, "correlationId": 5, "demangledName": 1, "shortName": 1}
        for rank, process in enumerate(FOUR)
    ]
    read = Read(made(*TENSOR[:2], CUPTI_ACTIVITY_KIND_KERNEL=kernels))
    assert read.ranks() == dict.fromkeys(FOUR, (None, None))


# -- the same whichever way, and through ingest ------------------------------------------------


def many() -> list[Row]:
    text = as_json(comm="7", size="8", op="Max")
    rows = [all_reduce(i, i % 6, end=5 + i) for i in range(300)]
    rows += [all_reduce(binaryData=None, jsonText=text), all_reduce(binaryData=GOOD * 2000)]
    return rows + [all_reduce(binaryData=data) for data, _ in BAD.values()] + [ring("step")] * 900


def test_the_driver_reads_the_same(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(*many())
    fast = Read(path)
    assert len(fast.calls()) == 302
    with monkeypatch.context() as patch:
        patch.setattr(nsys, "SqliteFile", partial(SqliteFile, driver_only=True))
        slow = Read(path)
    monkeypatch.setattr(nsys, "_ROWS_PER_PIECE", 50)
    pieces = Read(path, pieces=7)
    assert fast.calls() == slow.calls() == pieces.calls()
    assert fast.issues == slow.issues == pieces.issues


def test_misfits_are_counted_once(made: Made) -> None:
    read = Read(made(all_reduce(), all_reduce(domainId="x"), all_reduce(binaryData=None)))
    assert read.issues["values of the wrong type in column domainId were read as NULL"] == 1


def test_calls_are_stored(made: Made, tmp_path: Path) -> None:
    folder = made(init(0, 2), all_reduce(), all_reduce(binaryData=b"bad")).parent
    store = Store.create(tmp_path / "store")
    ingest([folder / "report.sqlite"], store, jobs=1)
    asked = store.connect(asked=["collective_call", "ingest_issue"])
    sql = "SELECT operation, rank_count, message_bytes FROM collective_call ORDER BY operation"
    assert asked.execute(sql).fetchall() == [("all_reduce", None, 4096), ("init", 2, None)]
    sql = "SELECT row_count FROM ingest_issue WHERE problem LIKE 'payloads of NCCL%'"
    assert asked.execute(sql).fetchall() == [(1,)]


CLEAN = {(5, 9, 1), (5, 9, 2), (5, 9, 4096)}
FLIPPED = [at for at in range(32) if at != 8]  # another byte there names another schema
few = settings(max_examples=60, deadline=None)


@few
@given(
    blobs=st.lists(
        st.one_of(
            st.binary(max_size=80),
            st.integers(0, len(GOOD)).map(lambda cut: GOOD[:cut]),
            st.tuples(st.sampled_from(FLIPPED), st.integers(0, 255)).map(
                lambda at: GOOD[: at[0]] + bytes([at[1]]) + GOOD[at[0] + 1 :]
            ),
        ),
        max_size=6,
    ),
    texts=st.lists(st.one_of(st.text(max_size=40), st.integers(0, 70).map(
        lambda cut: as_json(comm="7", size="4,096")[:cut])), max_size=4),
)  # fmt: skip
def test_whatever_lies_in_a_payload(
    tmp_path_factory: pytest.TempPathFactory, blobs: list[bytes], texts: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    rows = [all_reduce(binaryData=data) for data in blobs]
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    rows += [ring("ncclAllReduce", jsonText=text) for text in texts]
    read = Read(export(folder / "fuzz.sqlite", [all_reduce(1), *rows, all_reduce(2)]))
    found = read.calls("start_ns", "end_ns", "message_bytes")
    assert found[0] == (5, 9, 1) and found[-1] == (5, 9, 2)
    assert set(found) <= CLEAN
    assert len(read.tables["nvtx_range"]) == len(rows) + 2


@few
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "domainId": st.sampled_from([1, None, "x", 2**62]),
                "schemaId": st.sampled_from([ALL_REDUCE, INIT, None, -1, 2**62]),
                "idx": st.sampled_from([0, 1, 2, None, -5, 2**62]),
                "flags": st.sampled_from([None, 0, 2, 16, -1]),
                "type": st.sampled_from([18, 5, 22, 75, 0, None, -3, 2**62, ALL_REDUCE]),
                "name": st.sampled_from([COMM[1], SIZE[1], "Rank", None, b"\xff"]),
                "offset": st.sampled_from([None, 0, 8, -8, 2**62, "x"]),
            }
        ),
        max_size=5,
    )
)
def test_whatever_a_schema_says(tmp_path_factory: pytest.TempPathFactory, odd: list[Row]) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.sqlite"
    tables = {"NVTX_PAYLOAD_SCHEMA_ENTRIES": odd + entries({ALL_GATHER: SCHEMAS[ALL_GATHER]})}
    good = ring("ncclAllGather", binaryData=blob(ALL_GATHER, "QQ", WORLD, 64))
    try:
        read = Read(export(path, [all_reduce(), init(0, 2), good], **tables))
    except Refused:
        return
    assert (f"0x{WORLD:x}", 64) in read.calls("communicator_id", "message_bytes")


# -- published exports -----------------------------------------------------------------------

REAL = sorted(TRACES.glob("nsys/nccl_sendrecv*.sqlite.xz"))


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL, reason="the published exports are not here")
def test_payloads_put_into_a_real_export(tmp_path: Path) -> None:
    """The published file has NCCL's schemas, twice, and 132 ncclSend, but no payloads."""
    path = tmp_path / "real.sqlite"
    path.write_bytes(lzma.decompress(REAL[0].read_bytes()))
    problem = "communicators and message sizes of NCCL's calls were not exported"
    assert problem in Read(path).issues
    db = sqlite3.connect(path)
    sends = "textId IN (SELECT id FROM StringIds WHERE value = 'ncclSend')"
    sends = f"({sends} OR text = 'ncclSend')"
    data = blob(SEND, "QQi4x", WORLD, 1 << 20, 1)
    db.execute(f"UPDATE NVTX_EVENTS SET binaryData = ? WHERE {sends}", [data])
    db.commit()
    db.close()
    read = Read(path)
    assert (
        read.calls("communicator_id", "message_bytes", "peer_rank")
        == [(f"0x{WORLD:x}", 1 << 20, 1)] * 132
    )
    assert {row["process"] for row in read.calls()} == {144, 145}
    assert problem not in read.issues and read.unread is None
