"""NCCL's calls in an Nsight Systems export, as ``collective_call`` rows.

NCCL marks each of its calls by an NVTX range and describes it in the range's payload; what the
payload says is :mod:`pipeline.readers.nsys_payload`'s, what it means is told here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.nsys_identity import Identity, as_int32
from pipeline.readers.nsys_names import Names
from pipeline.readers.nsys_payload import Payloads, Tally, Values
from pipeline.readers.nsys_payload_schema import COMMUNICATOR, PARENT
from pipeline.readers.nsys_tables import (
    NVTX_KINDS,
    as_numpy,
    int_array,
    process,
    source_batches,
    thread,
)
from pipeline.readers.record import Issue
from pipeline.readers.sqlite_pages import Kind, Slice, SqliteFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Function of NCCL or RCCL, in lower case and without "nccl" and "Config" -> operation.
_OPERATIONS = {
    "allreduce": "all_reduce",
    "allreducewithbias": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "reduce": "reduce",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all",
    "gather": "gather",
    "scatter": "scatter",
    "send": "send",
    "recv": "recv",
    "putsignal": "put_signal",
    "signal": "signal",
    "waitsignal": "wait_signal",
    "comminitall": "init",
    "comminitrank": "init",
    "comminitrankmulti": "init",
    "comminitrankscalable": "init",
    "commsplit": "split",
    "commshrink": "shrink",
    "commgrow": "grow",
    "commfinalize": "finalize",
    "commdestroy": "destroy",
    "commabort": "abort",
    "commrevoke": "revoke",
}
# Their payload names the new communicator beside rank and rank count in the old one.
_OF_PARENT = ("split", "shrink", "grow")

_KINDS: dict[str, Kind] = {
    "start": "int",
    "end": "int",
    "eventType": "int",
    "text": "text",
    "textId": "int",
    "globalTid": "int",
    "domainId": "int",
}
_INCLUDE = "run 'nsys export --type sqlite --include-blobs=true' on the report"


def operation(name: str) -> str | None:
    """What a function of NCCL does; advanced tracing leaves the ``nccl`` out of its name."""
    plain = name.strip().lower().removeprefix("nccl").removesuffix("config")
    return _OPERATIONS.get(plain)


class Calls:
    """NCCL's calls in one export, and what its payloads say of ranks."""

    def __init__(self, db: SqliteFile, identity: Identity, names: Names) -> None:
        self._db = db
        self._identity = identity
        self._names = names
        self._payloads = Payloads(db, identity.is_json_included)
        self._pieces: set[Slice] = set()  # by parts in several threads: adding is atomic
        self._tally = Tally()
        # (process, communicator, its ranks, rank in it)
        self._members: set[tuple[int, int, int, int]] = set()

    @property
    def columns(self) -> Mapping[str, Kind]:
        """Columns of NVTX_EVENTS that may hold payloads of NCCL; none where nothing can."""
        return self._payloads.columns

    def note(self, columns: Mapping[str, pa.Array], piece: Slice) -> None:
        """Tells of a batch that was read with these columns, so that only what carries payloads
        is read again."""
        if any(columns[name].null_count < len(columns[name]) for name in self.columns):
            self._pieces.add(piece)

    def batches(self) -> Iterator[dict[str, pa.Array]]:
        """Columns of ``collective_call``, batch by batch, of the pieces that were noted."""
        kinds = _KINDS | self._payloads.columns
        for piece in sorted(self._pieces, key=lambda piece: piece.first):
            # Misfits of these columns have been counted when they were noted.
            for columns in source_batches(self._db, "NVTX_EVENTS", kinds, piece, counted=()):
                is_range = pc.fill_null(
                    pc.not_equal(NVTX_KINDS(columns["eventType"]), "mark"), False
                )
                carries = [pc.is_valid(columns[name]) for name in self.columns]
                is_wanted = pc.and_(is_range, reduce(pc.or_, carries))
                if pc.any(is_wanted).as_py():
                    yield self._calls({k: v.filter(is_wanted) for k, v in columns.items()})

    def _calls(self, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        count = len(columns["start"])
        nothing = {"binaryData": pa.binary(), "jsonText": pa.string(), "jsonTextId": pa.int64()}
        columns = {name: pa.nulls(count, of) for name, of in nothing.items()} | columns
        texts = columns["jsonText"]
        if texts.null_count and columns["jsonTextId"].null_count < count:
            texts = pc.coalesce(texts, self._names.text(columns["jsonTextId"]))
        domains = as_numpy(columns["domainId"])
        values = self._payloads.decode(columns["binaryData"], texts, domains, self._tally)
        name = columns["text"]
        if columns["textId"].null_count < count:
            name = pc.coalesce(name, self._names.text(columns["textId"]))
        operations = _operations(name)
        processes = process(columns["globalTid"])
        self._note_members(values, processes)
        is_new = pc.is_in(operations, pa.array(_OF_PARENT))
        for column in ("rank", "rank_count"):
            values.numbers[column][is_new.to_numpy(zero_copy_only=False)] = -1
        shift = self._identity.time_shift_ns
        result = {
            "start_ns": pc.subtract(columns["start"], shift),
            "end_ns": pc.subtract(columns["end"], shift),
            "process": processes,
            "thread": thread(columns["globalTid"]),
            "name": name,
            "operation": operations,
            "communicator_id": _hex(values.ids[COMMUNICATOR]),
            "reduction": pa.array(values.reduction.tolist(), pa.string()),
        }
        for column, numbers in values.numbers.items():
            found = int_array(numbers)
            result[column] = pc.if_else(pc.greater_equal(found, 0), found, None)
        is_call = _mask(values.is_call)
        return {name: column.filter(is_call) for name, column in result.items()}

    def _note_members(self, values: Values, processes: pa.Array) -> None:
        counts, ranks = values.numbers["rank_count"], values.numbers["rank"]
        known = values.is_call & (ranks >= 0) & (ranks < counts)
        parent, own = values.ids[PARENT], values.ids[COMMUNICATOR]
        for i in np.flatnonzero(known).tolist():
            owner = processes[i].as_py()
            if owner is not None:
                of = int(parent[i]) or int(own[i])
                self._members.add((owner, of, int(counts[i]), int(ranks[i])))

    def ranks(self, process_count: int) -> dict[int, tuple[int, str]]:
        """Process -> its global rank and where that was taken from.

        A rank is global in a communicator of all processes: of WORLD_SIZE ranks or, where the
        job does not say that, the largest of the file, if there is one largest and it is large
        enough for the ``process_count`` processes that used GPUs. Nothing is told of a process
        that has several ranks, nor of two that have the same.
        """
        size = self.world_size
        if size is None:
            size = max((count for _, _, count, _ in self._members), default=0)
            largest = {(of, count) for _, of, count, _ in self._members if count == size}
            if size < max(2, process_count) or len(largest) > 1:
                return {}
        found: dict[int, set[int]] = defaultdict(set)
        for owner, _, count, rank in self._members:
            if count == size:
                found[owner].add(rank)
        holders = Counter(rank for own in found.values() for rank in own)
        source = f"NCCL communicator of {size} ranks"
        return {
            owner: (rank, source)
            for owner, own in found.items()
            for rank in own
            if len(own) == 1 and holders[rank] == 1
        }

    @property
    def world_size(self) -> int | None:
        """How many processes the job has, if its environment says so."""
        return as_int32(self._identity.settings.get("WORLD_SIZE"))

    def issues(self) -> Iterator[Issue]:
        """What could not be read, once all batches have been."""
        place = "NVTX_EVENTS"
        unread = self._tally.unread
        if unread.total():
            reasons = ", ".join(f"{count} {why}" for why, count in sorted(unread.items()) if count)
            problem = f"payloads of NCCL could not be read: {reasons}"
            yield Issue("warning", place, problem, _INCLUDE, unread.total())
        for problem, count in (
            (
                "values in payloads of NCCL that cannot be were read as NULL",
                self._tally.odd_values,
            ),
            (
                "reductions without a name, made by the program, were read as NULL",
                self._tally.unnamed_reductions,
            ),
        ):
            if count:
                yield Issue("note", place, problem, "", count)
        if self._payloads.are_described and not self._pieces:
            problem = "communicators and message sizes of NCCL's calls were not exported"
            yield Issue("note", place, problem, _INCLUDE)


def _operations(names: pa.Array) -> pa.Array:
    encoded = names.dictionary_encode()
    known = [operation(name) for name in encoded.dictionary.to_pylist()]
    return pa.array(known, pa.string()).take(encoded.indices)


def _hex(ids: NDArray[np.uint64]) -> pa.Array:
    """Ids as 0x and 16 digits; 0 stands for none."""
    distinct, place = np.unique(ids, return_inverse=True)
    texts = [f"0x{number:016x}" if number else None for number in distinct.tolist()]
    return pa.array(texts, pa.string()).take(int_array(place.astype(np.int64)))


def _mask(values: NDArray[np.bool_]) -> pa.Array:
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])
