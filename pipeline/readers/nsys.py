"""Nsight Systems SQLite exports, schema generations 2020.4 to 2026.x.

Nothing in such a file can be relied on by position: tables appear only when something was
captured (or, exported with ``--lazy=false``, appear empty), columns come and go. So everything
is looked up by name and a missing table equals an empty one.

Environment, arguments, user, host list and captured output lie in the export too; none of it
is passed on, except what :mod:`pipeline.readers.nsys_identity` allows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.nsys_calls import Calls
from pipeline.readers.nsys_counters import Counters, gpu_id
from pipeline.readers.nsys_identity import (
    Identity,
    Row,
    as_int,
    as_int32,
    identify,
    process_of,
    rows,
    run_row,
)
from pipeline.readers.nsys_names import Names, api_name
from pipeline.readers.nsys_tables import (
    MAPS,
    NVTX_KINDS,
    TableMap,
    Tally,
    as_numpy,
    int_array,
    process,
    source_batches,
    thread,
    to_batch,
    with_valid_times,
)
from pipeline.readers.record import (
    NO_HINTS,
    Head,
    Hints,
    Issue,
    NotThisFormat,
    Part,
    Recording,
    Refused,
    row_batches,
)
from pipeline.readers.sqlite_pages import DamagedDatabase, Kind, Slice, SqliteFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "nsys-sqlite"
SUFFIXES = (".sqlite",)

_ROWS_PER_PIECE = 1_000_000
# Stands for the process of GPU work that the export does not attribute to one.
_NO_PROCESS = 0
_NVTX_THREAD_NAME, _NVTX_DOMAIN = 39, 75


def recognise(head: Head) -> bool:
    """Whether a file that begins so may be an export; other programs' databases are told apart
    where the whole file is at hand."""
    if not head.data.startswith(b"SQLite format 3\0"):
        return False
    if head.file is None:
        return True
    try:
        with SqliteFile(head.file) as db:
            return "StringIds" in db.tables
    except DamagedDatabase:
        return True  # read says what is wrong


def why_not(head: Head, beside: Collection[str]) -> Refused | None:
    """What is wrong with a file that is called like an export or a report but is no database."""
    name = head.name.lower()
    if name.endswith((".nsys-rep", ".qdrep")):
        stem = head.name.rpartition(".")[0]
        if any(other.startswith(f"{stem}.sqlite") for other in beside):
            return None  # its export is there
        return Refused(
            "an Nsight Systems report, which only its own tools can read",
            "run 'nsys export --type sqlite' on it and ingest the result",
        )
    if not name.endswith(SUFFIXES):
        return None
    problem = "not a SQLite database" if head.data else "empty file"
    if head.data and not head.data.strip(b"\0"):
        problem = "begins with zeros: the export was interrupted"
    return Refused(problem, "copy it again, or run 'nsys export --type sqlite' again")


def read(path: Path, name: str, pieces: int, hints: Hints = NO_HINTS) -> Recording:
    """Opens an export; tables are cut into up to ``pieces`` parts for reading in parallel.

    ``name`` is the file's name below its run, a last hint of the rank. Raises
    :class:`NotThisFormat` for other programs' databases and :class:`Refused` for damaged files
    and failed exports. The file is opened read-only and immutable.
    """
    try:
        db = SqliteFile(path)
    except DamagedDatabase as error:
        raise _damaged(error) from error
    try:
        if path.stat().st_size % db.page_size:  # SQLite would read zeros for the missing part
            raise DamagedDatabase("the last page is cut off")
        if not {"id", "value"} <= {c.name for c in db.tables.get("StringIds", ())}:
            raise NotThisFormat("a SQLite database, but not an Nsight Systems export")
        return _Export(db, name, pieces).recording
    except DamagedDatabase as error:
        db.close()
        raise _damaged(error) from error
    except BaseException:
        db.close()
        raise


def _damaged(error: DamagedDatabase) -> Refused:
    way_out = "copy it again, or run 'nsys export --type sqlite' on the report again"
    return Refused(f"damaged SQLite file: {error}", way_out)


def _guarded(batches: Callable[[], Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The same batches; damage that is met only while reading refuses the file."""
    try:
        yield from batches()
    except DamagedDatabase as error:
        raise _damaged(error) from error


class _Export:
    """One open export and what its parts have found so far."""

    def __init__(self, db: SqliteFile, name: str, pieces: int) -> None:
        self.db = db
        self.identity: Identity = identify(db, name)
        self.names = Names(db)
        self.counters = Counters(db, self.identity)
        self.calls = Calls(db, self.identity, self.names)
        self.recording = Recording(self.identity.facts, parts=[], close=db.close)
        # Written by parts that may run in several threads: adding to a set, dict or list and
        # marking a numpy element are atomic, and only closing parts read them.
        self.gpu_users: set[tuple[int, int]] = set()
        self.processes: set[int] = set()
        self.domains: dict[tuple[int, int], str] = {}
        self.tallies: list[tuple[str, Tally]] = []
        count = len(self.names.values)
        self.kernel_names = np.zeros(count, bool)
        self.short_names = np.zeros(count, np.int64)
        self.api_names = np.zeros(count, bool)
        self._plan(pieces)

    def _plan(self, pieces: int) -> None:
        parts = self.recording.parts

        def add(table: str, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
            parts.append(Part(table, partial(_guarded, batches)))

        for table_map in MAPS:
            for piece in self._pieces(table_map.source, pieces):
                add(table_map.target, partial(self._mapped, table_map, piece))
        for piece in self._pieces("NVTX_EVENTS", pieces):
            add("nvtx_range", partial(self._nvtx, piece))
        if self.counters.source:
            for piece in self._pieces(self.counters.source, pieces):
                add("gpu_sample", partial(self._samples, piece))
        closing: Mapping[str, Callable[[], Iterator[Row]]] = {
            "kernel_name": self._kernel_names,
            "api_name": self._api_names,
            "nvtx_domain": self._nvtx_domains,
            "process": self._processes,
            "device": self._devices,
            "setting": self._settings,
            "run": self._run,
        }
        if self.calls.columns:
            calls = partial(_guarded, self._collective_calls)
            self.recording.closing_parts.append(Part("collective_call", calls))
        for table, make in closing.items():
            batches = partial(_guarded, partial(_made, table, make))
            self.recording.closing_parts.append(Part(table, batches))

    def _pieces(self, source: str, most: int) -> list[Slice]:
        if source not in self.db.tables:
            return []
        wanted = round(self.db.row_estimate(source) / _ROWS_PER_PIECE)
        return self.db.slices(source, max(1, min(most, wanted)))

    # -- parts ---------------------------------------------------------------------------

    def _mapped(self, table_map: TableMap, piece: Slice) -> Iterator[pa.RecordBatch]:
        kinds: dict[str, Kind] = {
            source: kind for source, kind, _ in table_map.columns.values()
        } | dict.fromkeys((*table_map.names.values(), *table_map.derive_from), "int")
        tally = Tally()
        for columns in source_batches(self.db, table_map.source, kinds, piece):
            if table_map.leave_out:
                column, value = table_map.leave_out
                left_out = pc.fill_null(pc.equal(columns[column], value), False)
                if pc.any(left_out).as_py():
                    columns = {k: v.filter(pc.invert(left_out)) for k, v in columns.items()}
            result = {
                target: convert(columns[source])
                for target, (source, _, convert) in table_map.columns.items()
            }
            if table_map.derive:
                result |= table_map.derive(columns)
            self._name(table_map, columns, result)
            self._unshift(result, "start_ns", "end_ns")
            result = with_valid_times(result, tally)
            if table_map.is_gpu_activity and result["process"].null_count:
                tally.without_process += result["process"].null_count
                result["process"] = pc.fill_null(result["process"], _NO_PROCESS)
            self._note_users(result, table_map.is_gpu_activity)
            yield to_batch(result, table_map.target, tally)
        self.tallies.append((table_map.source, tally))

    def _name(
        self, table_map: TableMap, columns: Mapping[str, pa.Array], result: dict[str, pa.Array]
    ) -> None:
        for role, column in table_map.names.items():
            if role == "text":
                result["name"] = self.names.text(columns[column])
                continue
            positions = self.names.positions(columns[column])
            if role == "short":
                kernel = self.names.positions(columns[table_map.names["kernel"]])
                self.short_names[kernel] = positions
                continue
            used = self.kernel_names if role == "kernel" else self.api_names
            used[positions] = True
            result["name_id"] = int_array(self.names.stable_ids(positions))

    def _unshift(self, columns: dict[str, pa.Array], *times: str) -> None:
        shift = self.identity.time_shift_ns
        if shift:
            for name in times:
                columns[name] = pc.subtract(columns[name], shift)

    def _note_users(self, columns: Mapping[str, pa.Array], is_gpu_activity: bool) -> None:
        processes = columns["process"]
        if is_gpu_activity:
            key = int_array(as_numpy(columns["device_id"]) << 32 | as_numpy(processes))
            for pair in pc.unique(key).to_pylist():
                self.gpu_users.add((pair & 0xFFFFFFFF, pair >> 32))
        self.processes.update(p for p in pc.unique(processes).to_pylist() if p is not None)

    def _nvtx(self, piece: Slice) -> Iterator[pa.RecordBatch]:
        kinds: dict[str, Kind] = {
            "start": "int",
            "end": "int",
            "eventType": "int",
            "text": "text",
            "textId": "int",
            "globalTid": "int",
            "endGlobalTid": "int",
            "domainId": "int",
            **self.calls.columns,
        }
        tally = Tally()
        for columns in source_batches(self.db, "NVTX_EVENTS", kinds, piece):
            self.calls.note(columns, piece)
            name = columns["text"]
            if columns["textId"].null_count < len(name):
                name = pc.coalesce(name, self.names.text(columns["textId"]))
            self._note_names(as_numpy(columns["eventType"]), columns, name)
            result = {
                "start_ns": columns["start"],
                "end_ns": columns["end"],
                "process": process(columns["globalTid"]),
                "thread": thread(columns["globalTid"]),
                "end_thread": thread(columns["endGlobalTid"]),
                "kind": NVTX_KINDS(columns["eventType"]),
                "domain_id": pc.fill_null(columns["domainId"], 0),
                "name": name,
            }
            if result["kind"].null_count:
                is_range = pc.is_valid(result["kind"])
                result = {k: v.filter(is_range) for k, v in result.items()}
            self._unshift(result, "start_ns", "end_ns")
            result = with_valid_times(result, tally, is_end_required=False)
            self._note_users(result, is_gpu_activity=False)
            yield to_batch(result, "nvtx_range", tally)
        self.tallies.append(("NVTX_EVENTS", tally))

    def _note_names(
        self, types: NDArray[np.int64], columns: Mapping[str, pa.Array], names: pa.Array
    ) -> None:
        """Domain names, and ranks that MPI tracing tells by naming the thread."""
        telling = np.flatnonzero((types == _NVTX_DOMAIN) | (types == _NVTX_THREAD_NAME))
        for i in telling.tolist():
            global_tid, text = columns["globalTid"][i].as_py(), names[i].as_py()
            if global_tid is None or text is None:
                continue
            owner = process_of(global_tid)
            if types[i] == _NVTX_DOMAIN:
                self.domains[owner, columns["domainId"][i].as_py() or 0] = text
            elif mpi_rank := re.fullmatch(r"MPI Rank (\d+)", text):
                rank = as_int32(mpi_rank[1])
                if rank is not None:
                    self.identity.ranks.setdefault(owner, rank)

    def _samples(self, piece: Slice) -> Iterator[pa.RecordBatch]:
        for columns in self.counters.batches(piece):
            yield to_batch(columns, "gpu_sample", Tally())

    # -- closing parts: what is known once everything has been read ------------------------

    def _collective_calls(self) -> Iterator[pa.RecordBatch]:
        for columns in self.calls.batches():
            # What is left out here has been counted as rows of nvtx_range.
            columns = with_valid_times(columns, Tally(), is_end_required=False)
            yield to_batch(columns, "collective_call", Tally())

    def _kernel_names(self) -> Iterator[Row]:
        values = self.names.values
        used = np.flatnonzero(self.kernel_names)
        for position, name_id in zip(used, self.names.stable_ids(used).tolist(), strict=True):
            short = self.short_names[position]
            yield {
                "name_id": name_id,
                "name": values[position].as_py(),
                "short_name": values[short].as_py() if short else None,
            }

    def _api_names(self) -> Iterator[Row]:
        used = np.flatnonzero(self.api_names)
        for position, name_id in zip(used, self.names.stable_ids(used).tolist(), strict=True):
            recorded = self.names.values[position].as_py()
            yield {
                "name_id": name_id,
                "name": api_name(recorded),
                "versioned_name": recorded,
            }

    def _nvtx_domains(self) -> Iterator[Row]:
        for (owner, domain), name in sorted(self.domains.items()):
            yield {"process": owner, "domain_id": domain, "name": name}

    def _processes(self) -> Iterator[Row]:
        identity = self.identity
        on_gpu = {user for user, _ in self.gpu_users}
        # The environment is that of the launched process. Where several processes of the file
        # used a GPU (nsys around torchrun), it cannot be the rank of all of them.
        launched = on_gpu if on_gpu else self.processes
        sole = next(iter(launched)) if len(launched) == 1 else None
        if len(on_gpu) <= 1:
            identity.facts.rank = identity.rank
        by_mpi = dict(identity.ranks)
        by_nccl = self.calls.ranks(len(on_gpu))
        for pid, (rank_, _) in by_nccl.items():
            identity.ranks.setdefault(pid, rank_)
        # A file's name says less than MPI or a communicator of all processes, but more than a
        # communicator that may be of some of them only.
        better = set(by_mpi) | set(by_nccl if self.calls.world_size is not None else ())
        if identity.rank_source != "file name":
            better = set()
        for pid in sorted(self.processes):
            rank, source = by_mpi.get(pid), "MPI"
            if identity.rank is not None and pid == sole and pid not in better:
                rank, source = identity.rank, str(identity.rank_source)
            elif rank is None and pid in by_nccl:
                rank, source = by_nccl[pid]
            if rank is not None and pid == sole:
                identity.facts.rank = rank
            yield {
                "process": pid,
                "name": identity.process_names.get(pid),
                "host": identity.facts.host,
                "rank": rank,
                "rank_source": None if rank is None else source,
            }

    def _devices(self) -> Iterator[Row]:
        seen: list[Row] = []
        users = Counter(device_id for _, device_id in self.gpu_users)
        for owner, device_id in sorted(self.gpu_users):
            gpu = self.identity.gpu_of(owner, device_id)
            if users[device_id] > 1 and not self.identity.ordinals and len(self.identity.gpus) > 1:
                gpu = None  # with a GPU of its own, each process would call it by this number
                problem = "several processes call their GPU by one number, and nothing says which"
                self.recording.report(Issue("note", f"process {owner}", f"{problem} it is"))
            if gpu:
                seen.append(gpu)
            yield _device_row(gpu, owner, device_id)
        for gpu in self.identity.gpus:
            if not any(gpu is other for other in seen):
                yield _device_row(gpu, None, None)

    def _settings(self) -> Iterator[Row]:
        for name, value in sorted(self.identity.settings.items()):
            yield {"name": name, "value": value}

    def _run(self) -> Iterator[Row]:
        self._report()
        yield run_row(self.identity)

    # -- issues ----------------------------------------------------------------------------

    def _report(self) -> None:
        report = self.recording.report
        facts = self.identity.facts
        if facts.status == "incomplete":
            problem = f"the export may be cut short: {facts.status_reason}"
            report(Issue("warning", "", problem, "run 'nsys export --type sqlite' again"))
        if not self.gpu_users:
            report(
                Issue(
                    "warning",
                    "",
                    "no GPU activity was captured",
                    "capture with 'nsys profile --trace=cuda,nvtx' around the processes that "
                    "use the GPU",
                )
            )
        messages = Counter(
            _diagnostic(text)
            for row in rows(self.db, "DIAGNOSTIC_EVENT", severity="int", text="text")
            if isinstance(text := row["text"], str)
            and ((as_int(row["severity"]) or 0) >= 2 or "might be missing" in text)
        )
        for text, count in messages.items():
            report(Issue("warning", "DIAGNOSTIC_EVENT", text, "", count))
        self._report_ranks()
        self._report_rows()

    def _report_ranks(self) -> None:
        on_gpu = {user for user, _ in self.gpu_users}
        unknown = on_gpu - set(self.identity.ranks)
        if len(on_gpu) > 1 and unknown:
            problem = f"{len(on_gpu)} processes used GPUs and nothing says which rank each is"
            report = Issue("note", "", problem, "capture one file per rank to know the ranks")
            self.recording.report(report)
        elif on_gpu and self.identity.rank is None and unknown:
            problem = "nothing in the file or its name says which rank this is"
            self.recording.report(Issue("note", "", problem, "put rank<N> into the file's name"))

    def _report_rows(self) -> None:
        for source in sorted({source for source, _ in self.tallies}):
            tallies = [tally for name, tally in self.tallies if name == source]
            without_end = sum(t.without_end for t in tallies)
            backwards = sum(t.backwards for t in tallies)
            without_process = sum(t.without_process for t in tallies)
            for problem, count in (
                ("rows do not say their process; it is given as 0", without_process),
                ("rows without a start or end time were left out", without_end),
                ("rows that end before they start were left out", backwards),
            ):
                if count:
                    self.recording.report(Issue("warning", source, problem, "", count))
            for column in sorted({c for t in tallies for c in t.missing}):
                count = sum(t.missing.get(column, 0) for t in tallies)
                problem = f"rows without {column} were left out"
                self.recording.report(Issue("warning", source, problem, "", count))
            for column in sorted({c for t in tallies for c in t.out_of_range}):
                count = sum(t.out_of_range.get(column, 0) for t in tallies)
                problem = f"values too large for {column} were read as NULL"
                self.recording.report(Issue("warning", source, problem, "", count))
        for (source, column), count in sorted(self.db.misfits.items()):
            problem = f"values of the wrong type in column {column} were read as NULL"
            self.recording.report(Issue("warning", source, problem, "", count))
        for issue in self.calls.issues():
            self.recording.report(issue)
        counters = self.counters
        for problem, count in (
            ("samples of counters that the export does not name were left out", counters.unnamed),
            ("samples without a time or a number were left out", counters.odd),
        ):
            if count:
                place = counters.source or ""
                self.recording.report(Issue("warning", place, problem, "", count))
        graphs = self.db.tables.get("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
        if graphs:
            count = self.db.row_estimate("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
            if count:
                problem = "CUDA graphs were recorded as a whole: their kernels are not visible"
                way_out = "capture with --cuda-graph-trace=node to see them"
                self.recording.report(
                    Issue("note", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", problem, way_out, count)
                )


def _made(table: str, make: Callable[[], Iterator[Row]]) -> Iterator[pa.RecordBatch]:
    return row_batches(table, list(make()))


# Messages of the profiler about itself, seen in exports of 2022 to 2026. Others may repeat a
# command line or a name.
_KNOWN_MESSAGES = re.compile(
    r"(Not all|No) [\w /]+ events (might have been )?collected\b|CUDA profiling might|"
    r"Installed CUDA driver version|Number of CUPTI events|Scheduling information is absent|"
    r"CUDA device \d+: |Unable to collect |(Some )?events might be missing|Some events might be"
)


def _diagnostic(text: str) -> str:
    """A message of the profiler without what names users and folders of the profiled machine."""
    if not _KNOWN_MESSAGES.match(text):
        return "a message of the profiler that may hold private text is not repeated here"
    return re.sub(r"(?<!\w)(?:/[\w.@+-]+){2,}/?", "<path>", " ".join(text.split()))


def _device_row(gpu: Row | None, owner: int | None, device_id: int | None) -> Row:
    found = gpu or {}
    major, minor = found.get("computeMajor"), found.get("computeMinor")
    ordinal = device_id if device_id is not None or owner is not None else found.get("cuDevice")
    uuid = found.get("uuid") or None
    bandwidth = found.get("memoryBandwidth")
    return {
        "process": owner,
        "device_id": ordinal,
        "gpu_id": gpu_id(gpu, f"{owner}:{as_int(ordinal)}"),
        "name": found.get("name"),
        "uuid": uuid,
        "bus_id": found.get("busLocation") or None,
        "memory_bytes": found.get("totalMemory"),
        "memory_bandwidth_bytes_per_s": bandwidth or None,
        "clock_hz": found.get("clockRate"),
        "sm_count": found.get("smCount"),
        "compute_capability": None if major is None else f"{as_int(major)}.{as_int(minor) or 0}",
    }
