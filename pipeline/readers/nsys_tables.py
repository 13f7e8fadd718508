"""How each table of an Nsight Systems export becomes a table of ours: declarations and casts.

A target column is a source column and a conversion. Columns are found by name, since their
order and number change with the exporter's version; a missing one is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline import catalog
from pipeline.readers.sqlite_pages import Kind, Slice, SqliteFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

Convert = Callable[[pa.Array], pa.Array]


def int_array(values: NDArray[np.int64], like: pa.Array | None = None) -> pa.Array:
    """An Arrow column over ``values``, NULL where ``like`` is.

    Not ``pa.array(values)``: that imports pandas where it is installed, which costs 0.5 s.
    """
    validity = None
    if like is not None and like.null_count:
        is_valid = pc.is_valid(like).to_numpy(zero_copy_only=False)
        validity = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.int64(), len(values), [validity, data])


def as_numpy(column: pa.Array) -> NDArray[np.int64]:
    """An int64 column as numpy, 0 where NULL."""
    filled = pc.fill_null(column, 0) if column.null_count else column
    result: NDArray[np.int64] = filled.to_numpy(zero_copy_only=False)
    return result


def same(column: pa.Array) -> pa.Array:
    return column


def process(column: pa.Array) -> pa.Array:
    """globalPid or globalTid -> process id: hardware(8) | VM(8) | PID(24) | TID(24)."""
    return int_array((as_numpy(column) >> 24) & 0xFFFFFF, column)


def thread(column: pa.Array) -> pa.Array:
    """globalTid -> thread id."""
    return int_array(as_numpy(column) & 0xFFFFFF, column)


def labels(*texts: str | None, other: str | None = None) -> Convert:
    """Numbers 0, 1, 2 ... -> texts; any other number and NULL -> ``other``."""
    lookup = pa.array([*texts, other], pa.string())

    def convert(column: pa.Array) -> pa.Array:
        codes = as_numpy(pc.fill_null(column, -1))
        known = (codes >= 0) & (codes < len(texts))
        return lookup.take(int_array(np.where(known, codes, len(texts))))

    return convert


# ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND are in the export only from schema 3.0 (2022.4)
# on and unchanged since 2020, so they are spelled out here.
COPY_KINDS = labels(
    "unknown",
    "HtoD",
    "DtoH",
    "HtoA",
    "AtoH",
    "AtoA",
    "AtoD",
    "DtoA",
    "DtoD",
    "HtoH",
    "PtoP",
    "unified HtoD",
    "unified DtoH",
    "unified DtoD",
    other="unknown",
)
MEMORY_KINDS = labels(
    "pageable", "pinned", "device", "array", "managed", "device static", "managed static"
)
API_KINDS = labels("runtime", "driver")
# NVTX_EVENTS.eventType; 70 and 71 are the NVTXT forms of 59 and 60.
_NVTX_KINDS: dict[int, str] = {
    34: "mark",
    59: "push_pop",
    60: "start_end",
    70: "push_pop",
    71: "start_end",
}
NVTX_KINDS = labels(*(_NVTX_KINDS.get(i) for i in range(72)))


# "No stream" and "no event" in CUPTI_ACTIVITY_KIND_SYNCHRONIZATION.
_NONE = 0xFFFFFFFF


def _synchronization(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """What was waited for, by whether a stream and an event are named.

    Not by syncType: its numbers changed meaning twice (1 is a context until 2023.4 and an event
    in 2026.2; 3 is both stream and event wait until 2023.4), whatever the enum table beside says.
    """
    stream = as_numpy(pc.fill_null(columns["streamId"], _NONE))
    event = as_numpy(pc.fill_null(columns["eventId"], _NONE))
    code = (stream != _NONE) * 2 + (event != _NONE)
    kinds = pa.array(["context", "event", "stream", "stream_wait_event"])
    no_stream = pc.equal(columns["streamId"], _NONE)
    return {
        "kind": kinds.take(int_array(code.astype(np.int64))),
        "stream_id": pc.if_else(no_stream, None, columns["streamId"]),
    }


@dataclass(frozen=True)
class TableMap:
    """Source table -> target table; ``columns`` is target -> (source column, kind, conversion)."""

    target: str
    source: str
    columns: Mapping[str, tuple[str, Kind, Convert]]
    # Source columns that hold ids of StringIds: role -> column. Handled by the caller.
    names: Mapping[str, str] = field(default_factory=dict)
    # Rows of these values in this source column are left out.
    leave_out: tuple[str, int] | None = None
    # Target columns that follow from several source columns, and those columns.
    derive: Callable[[Mapping[str, pa.Array]], dict[str, pa.Array]] | None = None
    derive_from: tuple[str, ...] = ()
    is_gpu_activity: bool = False


_SPAN = {"start_ns": ("start", "int", same), "end_ns": ("end", "int", same)}
_WHERE = {
    "process": ("globalPid", "int", process),
    "device_id": ("deviceId", "int", same),
    "context_id": ("contextId", "int", same),
    "stream_id": ("streamId", "int", same),
    "correlation_id": ("correlationId", "int", same),
}
_ON_THREAD = {
    "process": ("globalTid", "int", process),
    "thread": ("globalTid", "int", thread),
}


def _plain(**columns: str) -> dict[str, tuple[str, Kind, Convert]]:
    return {target: (source, "int", same) for target, source in columns.items()}


def _maps(*parts: Mapping[str, tuple[str, str, Convert]]) -> dict[str, tuple[str, Kind, Convert]]:
    return {k: v for part in parts for k, v in part.items()}  # type: ignore[misc]


MAPS = (
    TableMap(
        "kernel",
        "CUPTI_ACTIVITY_KIND_KERNEL",
        _maps(
            _SPAN,
            _WHERE,
            _plain(
                grid_x="gridX",
                grid_y="gridY",
                grid_z="gridZ",
                block_x="blockX",
                block_y="blockY",
                block_z="blockZ",
                registers_per_thread="registersPerThread",
                static_shared_memory_bytes="staticSharedMemory",
                dynamic_shared_memory_bytes="dynamicSharedMemory",
                graph_node_id="graphNodeId",
            ),
        ),
        names={"kernel": "demangledName", "short": "shortName"},
        is_gpu_activity=True,
    ),
    TableMap(
        "graph_launch",
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        _maps(_SPAN, _WHERE, _plain(graph_id="graphId", graph_exec_id="graphExecId")),
        is_gpu_activity=True,
    ),
    TableMap(
        "memory_copy",
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        _maps(
            _SPAN,
            _WHERE,
            _plain(
                bytes="bytes",
                source_device_id="srcDeviceId",
                destination_device_id="dstDeviceId",
                graph_node_id="graphNodeId",
            ),
            {
                "kind": ("copyKind", "int", COPY_KINDS),
                "source_memory": ("srcKind", "int", MEMORY_KINDS),
                "destination_memory": ("dstKind", "int", MEMORY_KINDS),
            },
        ),
        is_gpu_activity=True,
    ),
    TableMap(
        "memory_set",
        "CUPTI_ACTIVITY_KIND_MEMSET",
        _maps(
            _SPAN,
            _WHERE,
            _plain(bytes="bytes", graph_node_id="graphNodeId"),
            {"memory": ("memKind", "int", MEMORY_KINDS)},
        ),
        is_gpu_activity=True,
    ),
    TableMap(
        "api_call",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        _maps(
            _SPAN,
            _ON_THREAD,
            _plain(correlation_id="correlationId", return_code="returnValue"),
            {"api": ("eventClass", "int", API_KINDS)},
        ),
        names={"api": "nameId"},
        # Event class 67 is a CUDA backtrace: it repeats the call with the same correlation id,
        # and would double every kernel that is joined to its launch.
        leave_out=("eventClass", 67),
    ),
    TableMap(
        "synchronization",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        _maps(_SPAN, {k: v for k, v in _WHERE.items() if k != "stream_id"}),
        derive=_synchronization,
        derive_from=("streamId", "eventId"),
    ),
    TableMap(
        "memory_usage_event",
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        _maps(
            _SPAN | {"end_ns": ("start", "int", same)},  # a moment; the table has no end
            {k: v for k, v in _WHERE.items() if k != "stream_id"},
            _plain(bytes="bytes"),
            {
                "operation": ("memoryOperationType", "int", labels("allocate", "free")),
                "memory": ("memKind", "int", MEMORY_KINDS),
                "name": ("name", "text", same),
            },
        ),
    ),
    TableMap(
        "profiler_overhead",
        "PROFILER_OVERHEAD",
        _maps(_SPAN, _ON_THREAD),
        names={"text": "nameId"},
    ),
)


@dataclass
class Tally:
    """What a piece of a table held besides the rows that were kept."""

    without_end: int = 0
    without_process: int = 0
    backwards: int = 0
    out_of_range: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)


def source_batches(
    db: SqliteFile,
    source: str,
    kinds: Mapping[str, Kind],
    piece: Slice | None,
    counted: Collection[str] | None = None,
) -> Iterator[dict[str, pa.Array]]:
    """Columns by name, batch by batch; a column that the table lacks is all NULL.

    Values of the wrong type count as misfits of the file in the ``counted`` columns only (all
    by default): another part may read the others too.
    """
    present = {column.name for column in db.tables[source]}
    wanted = {name: kind for name, kind in kinds.items() if name in present}
    types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "bytes": pa.binary()}
    for batch in db.batches(source, wanted, piece, counted):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, kind in kinds.items():
            if name not in columns:
                columns[name] = pa.nulls(batch.num_rows, types[kind])
        yield columns


def to_batch(columns: Mapping[str, pa.Array], table: str, tally: Tally) -> pa.RecordBatch:
    """Columns as a batch of ``table``. A number too large for its column becomes NULL, a row
    without a value that the table requires is left out; both are tallied."""
    schema = catalog.arrow_schemas()[table]
    cast = []
    for wanted in schema:
        column = columns[wanted.name]
        if column.type != wanted.type:
            try:
                column = column.cast(wanted.type)
            except pa.ArrowInvalid:
                bits = wanted.type.bit_width
                inside = pc.and_(
                    pc.greater_equal(column, -(1 << (bits - 1))),
                    pc.less(column, 1 << (bits - 1)),
                )
                lost = pc.sum(pc.invert(inside)).as_py() or 0
                tally.out_of_range[wanted.name] = tally.out_of_range.get(wanted.name, 0) + lost
                column = pc.if_else(inside, column, None).cast(wanted.type)
        cast.append(column)
    batch = pa.RecordBatch.from_arrays(cast, schema=schema)
    for name in catalog.required_columns(table):
        column = batch.column(name)
        if column.null_count:
            tally.missing[name] = tally.missing.get(name, 0) + column.null_count
            batch = batch.filter(pc.is_valid(column))
    return batch


def with_valid_times(
    columns: dict[str, pa.Array], tally: Tally, is_end_required: bool = True
) -> dict[str, pa.Array]:
    """Leaves out rows without a start or (if required) an end, and rows that end before they start.

    Times arrive as ``start_ns`` and ``end_ns``. Columns are returned as they are when nothing
    is wrong, which is the ordinary case.
    """
    start, end = columns["start_ns"], columns["end_ns"]
    keep = None
    missing = pc.is_null(start)
    if is_end_required:
        missing = pc.or_(missing, pc.is_null(end))
    if start.null_count or (is_end_required and end.null_count):
        tally.without_end += pc.sum(missing).as_py()
        keep = pc.invert(missing)
    backwards = pc.fill_null(pc.less(end, start), False)
    if pc.any(backwards).as_py():
        tally.backwards += pc.sum(backwards).as_py()
        keep = pc.invert(backwards) if keep is None else pc.and_not(keep, backwards)
    if keep is None:
        return columns
    return {name: column.filter(keep) for name, column in columns.items()}
