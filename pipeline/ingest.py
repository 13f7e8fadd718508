"""Files in, committed tables out: the loop over inputs, the pool of workers, the outcomes."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline import catalog
from pipeline.archive import DamagedData, Found, plain_file, walk
from pipeline.errors import UserError
from pipeline.readers import READERS
from pipeline.readers.record import Facts, Issue, NotThisFormat, Part, Recording, Refused
from pipeline.store import Staging, Store

if TYPE_CHECKING:
    from types import ModuleType

OutcomeKind = Literal["stored", "replaced", "unchanged", "duplicate", "refused", "ignored"]

_LFS = b"version https://git-lfs.github.com/spec/"
_NOT_A_TRACE = "not a trace that tracelake knows"
_KNOWN_TRACES = "see the README for the formats it reads"


@dataclass(frozen=True)
class Outcome:
    """What became of one file. ``fault`` is set for a refused one."""

    kind: OutcomeKind
    run_id: str
    name: str
    shown: str
    detail: str = ""
    size_bytes: int = 0
    row_count: int = 0
    issues: tuple[Issue, ...] = ()
    fault: UserError | None = None


@dataclass
class Summary:
    """Outcomes of one ingest, counted."""

    outcomes: list[Outcome] = field(default_factory=list)

    def count(self, *kinds: OutcomeKind) -> int:
        return sum(outcome.kind in kinds for outcome in self.outcomes)

    @property
    def rows(self) -> int:
        return sum(outcome.row_count for outcome in self.outcomes)

    @property
    def runs(self) -> list[str]:
        kept = ("stored", "replaced", "unchanged", "duplicate")
        return sorted({outcome.run_id for outcome in self.outcomes if outcome.kind in kept})


def ingest(
    paths: Sequence[Path],
    store: Store,
    run: str | None = None,
    jobs: int | None = None,
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> Summary:
    """Ingests every trace under ``paths``; a bad file is an outcome, never the end of the batch.

    Up to ``jobs`` processes read one file each (default: one per core); a single file is read
    by that many threads. ``on_outcome`` is called as each file is done.
    """
    store.clear_abandoned()
    summary = Summary()

    def done(outcome: Outcome) -> None:
        summary.outcomes.append(outcome)
        on_outcome(outcome)

    with store.staging() as fetched, _Pool(store, jobs or _cores(), done) as pool:
        for path in paths:
            try:
                files = walk(path, looks_like_trace, run)
                held = [_take(found, store, fetched, pool, done) for found in files]
            except UserError as error:
                done(Outcome("refused", "", str(path), str(path), fault=error))
                continue
            if not any(held):
                done(_no_traces(path))
    # What looked like a trace by its beginning alone may have turned out to be none.
    if summary.outcomes and summary.count("ignored") == len(summary.outcomes):
        for path in paths:
            done(_no_traces(path))
    return summary


def _no_traces(path: Path) -> Outcome:
    fault = UserError(str(path), "no traces here", _KNOWN_TRACES)
    return Outcome("refused", "", str(path), str(path), fault=fault)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _take(
    found: Found,
    store: Store,
    fetched: Staging,
    pool: _Pool,
    done: Callable[[Outcome], None],
) -> bool:
    """Decides about one file by its beginning; whether it is a trace, be it a broken one."""
    fault = _fault_of_head(found)
    if fault is not None:
        if fault.problem == _NOT_A_TRACE and not found.is_named:
            done(_outcome("ignored", found, _NOT_A_TRACE))
            return False
        done(refuse(found, store, fault))
        return True
    first = pool.seen.setdefault((found.run_id, found.name), found.shown)
    if first != found.shown:
        problem = f"run {found.run_id} has a file of this name already, {first}"
        fault = UserError(found.shown, problem, "give one of the two a run of its own with --run")
        done(replace(_outcome("refused", found), fault=fault))
        return True
    known = store.known(found.run_id, found.name)
    if known and known.stat_signature == found.signature:
        done(_outcome("unchanged", found))
        return True
    try:
        file = found.fetch(fetched.work)
    except DamagedData as error:
        done(refuse(found, store, UserError(found.shown, str(error), "copy it again")))
        return True
    job = Job(
        found.run_id,
        found.name,
        found.shown,
        found.size_bytes,
        found.signature,
        str(file),
        found.is_named or _is_called_trace(found.plain_name),
    )
    pool.submit(job)
    return True


def _outcome(kind: OutcomeKind, file: Found | Job, detail: str = "") -> Outcome:
    return Outcome(kind, file.run_id, file.name, file.shown, detail, file.size_bytes)


# -- deciding by the beginning of a file ---------------------------------------------------


def looks_like_trace(head: bytes, name: str, file: Path) -> bool:
    """Whether a file that begins so and is called so is a trace, perhaps a broken one."""
    if _is_called_trace(name):
        return True
    # A compressed file is not unpacked for this: its beginning must do.
    content = file if file.name == name else None
    return any(reader.recognise(head, content) for reader in READERS)


def _reader_for(head: bytes) -> ModuleType | None:
    return next((reader for reader in READERS if reader.recognise(head)), None)


def _is_called_trace(name: str) -> bool:
    return name.lower().endswith(tuple(s for reader in READERS for s in reader.SUFFIXES))


def _fault_of_head(found: Found) -> UserError | None:
    """What is wrong with a file as far as its beginning tells, None if a reader can try it."""
    is_called_trace = _is_called_trace(found.plain_name)
    if found.problem is not None:
        if found.is_named or is_called_trace:
            return UserError(found.shown, found.problem, "copy it again")
        return UserError(found.shown, _NOT_A_TRACE, _KNOWN_TRACES)
    if found.head.startswith(_LFS):
        return UserError(
            found.shown, "a Git LFS pointer, not the file itself", "fetch it with 'git lfs pull'"
        )
    if _reader_for(found.head) is not None:
        return None
    if found.plain_name.lower().endswith((".nsys-rep", ".qdrep")):
        if not found.is_named and _has_export(Path(found.shown)):
            return UserError(found.shown, _NOT_A_TRACE, _KNOWN_TRACES)
        return UserError(
            found.shown,
            "an Nsight Systems report, which only its own tools can read",
            "run 'nsys export --type sqlite' on it and ingest the result",
        )
    if is_called_trace:
        problem = "empty file" if not found.head else "not a SQLite database"
        if found.head and not found.head.strip(b"\0"):
            problem = "begins with zeros: the export was interrupted"
        return UserError(
            found.shown, problem, "copy it again, or run 'nsys export --type sqlite' again"
        )
    return UserError(found.shown, _NOT_A_TRACE, _KNOWN_TRACES)


def _has_export(report: Path) -> bool:
    """Whether a report's export lies beside it."""
    try:
        names = os.listdir(report.parent)
    except OSError:
        return False
    return any(name.startswith(f"{report.stem}.sqlite") for name in names)


def refuse(found: Found | Job, store: Store, fault: UserError) -> Outcome:
    """Records a refusal beside whatever good version of the file the store holds."""
    refused = replace(_outcome("refused", found), fault=fault)
    if fault.problem == _NOT_A_TRACE:
        return refused
    issue = Issue("error", "", fault.problem, fault.way_out)
    facts = Facts(format="", status="refused", status_reason=fault.problem)
    # Where the store itself is what fails, the line that is told must do.
    with suppress(UserError, OSError), store.staging() as staging:
        row = _source_row(found, facts, None, 0)
        _write_rows(staging, "source_file", [row | {"format": None}])
        _write_rows(staging, "ingest_issue", [_issue_row(found.name, issue)])
        staging.commit(found.run_id, found.name)
    return refused


# -- reading one file ----------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One file for a worker; picklable."""

    run_id: str
    name: str
    shown: str
    size_bytes: int
    signature: str
    file: str
    # Named on the command line, or called like a trace: that it is none is a fault.
    is_expected: bool


def ingest_file(job: Job, root: Path, threads: int) -> Outcome:
    """Reads one file and commits its tables; faults of the file become its outcome."""
    store = Store.open(root)
    try:
        with store.staging() as staging, plain_file(Path(job.file), staging.work) as plain:
            return _read_and_commit(job, staging, plain, threads)
    except NotThisFormat as error:
        if not job.is_expected:
            return _outcome("ignored", job, str(error))
        return refuse(job, store, UserError(job.shown, str(error), _KNOWN_TRACES))
    except (Refused, DamagedData, OSError) as error:
        return refuse(job, store, _fault(job, error))
    except UserError as error:
        return refuse(job, store, error)


def _fault(job: Job, error: Exception) -> UserError:
    if isinstance(error, Refused):
        return UserError(job.shown, error.problem, error.way_out)
    if isinstance(error, OSError):
        return UserError(job.shown, f"cannot be read or stored: {error.strerror}", "")
    return UserError(job.shown, str(error), "copy it again")


def _read_and_commit(job: Job, staging: Staging, plain: Path, threads: int) -> Outcome:
    with plain.open("rb") as stream:
        reader = _reader_for(stream.read(4096))
    if reader is None:
        raise NotThisFormat(_NOT_A_TRACE)
    # Read by one thread a table is one piece; more pieces than threads even out their lengths.
    recording: Recording = reader.read(plain, job.name, 1 if threads == 1 else 4 * threads)
    try:
        with ThreadPoolExecutor(threads) as pool:
            fingerprint = pool.submit(_fingerprint, plain)
            rows = _write_parts(recording.parts, staging, pool)
            rows += sum(
                staging.write(part.table, 0, part.batches()) for part in recording.closing_parts
            )
            digest = fingerprint.result()
    finally:
        recording.close()
    issues = recording.issues
    _write_rows(staging, "source_file", [_source_row(job, recording.facts, digest, rows)])
    _write_rows(staging, "ingest_issue", [_issue_row(job.name, issue) for issue in issues])
    kind, twin = staging.commit(job.run_id, job.name)
    detail = f"same content as {twin}, which is stored already" if twin else ""
    stored_rows = rows if kind in ("stored", "replaced") else 0
    return replace(_outcome(kind, job, detail), row_count=stored_rows, issues=tuple(issues))


def _write_parts(parts: list[Part], staging: Staging, pool: ThreadPoolExecutor) -> int:
    numbers: dict[str, int] = {}
    waiting: list[Future[int]] = []
    for part in parts:
        number = numbers.get(part.table, 0)
        numbers[part.table] = number + 1
        waiting.append(pool.submit(_write_part, staging, part, number))
    try:
        return sum(future.result() for future in waiting)
    finally:
        for future in waiting:
            future.cancel()


def _write_part(staging: Staging, part: Part, number: int) -> int:
    return staging.write(part.table, number, part.batches())


def _fingerprint(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _source_row(
    job: Job | Found, facts: Facts, fingerprint: str | None, rows: int
) -> dict[str, object]:
    return {
        "path": job.name,
        "size_bytes": job.size_bytes,
        "fingerprint": fingerprint,
        "stat_signature": job.signature,
        "row_count": rows,
        **vars(facts),
    }


def _issue_row(name: str, issue: Issue) -> dict[str, object]:
    place = f"{name}: {issue.place}" if issue.place else name
    return {**vars(issue), "place": place}


def _write_rows(staging: Staging, table: str, rows: list[dict[str, object]]) -> None:
    import pyarrow as pa

    if rows:
        batch = pa.RecordBatch.from_pylist(rows, schema=catalog.arrow_schemas()[table])
        staging.write(table, 0, [batch])


# -- the pool ------------------------------------------------------------------------------


def _processes(count: int) -> ProcessPoolExecutor:
    """Workers that end with this process, however it ends.

    Not forked: this process has threads (Arrow's), which a forked child would lose.
    """
    context = get_context("spawn")
    return ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)  # killed without a word: its workers would wait for ever

    threading.Thread(target=watch, daemon=True).start()


class _Pool:
    """Files to workers: several files to processes, a single one to threads of this process."""

    def __init__(self, store: Store, jobs: int, done: Callable[[Outcome], None]) -> None:
        self._store = store
        self._jobs = jobs
        self._done = done
        self._first: Job | None = None
        self._executor: ProcessPoolExecutor | None = None
        self._running: dict[Future[Outcome], Job] = {}
        # Files of this batch by run and name: two of one name would replace each other.
        self.seen: dict[tuple[str, str], str] = {}

    def __enter__(self) -> _Pool:
        return self

    def submit(self, job: Job) -> None:
        """Takes a file; waits while every worker is busy, so that fetched files don't pile up."""
        if self._jobs == 1:
            self._finish(job, ingest_file(job, self._store.root, 1))
        elif self._executor is None and self._first is None:
            self._first = job  # whether it stays the only one is not known yet
        else:
            self._start()
            self._send(job)

    def _start(self) -> None:
        if self._executor is None:
            self._executor = _processes(self._jobs)
        first, self._first = self._first, None
        if first is not None:
            self._send(first)

    def _send(self, job: Job) -> None:
        while len(self._running) > self._jobs:
            self._collect()
        self._start()
        assert self._executor is not None
        try:
            future = self._executor.submit(ingest_file, job, self._store.root, 1)
        except BrokenProcessPool:
            self._retry_one_by_one([*self._running.values(), job])
            return
        self._running[future] = job

    def _collect(self) -> None:
        finished, _ = wait(self._running, return_when="FIRST_COMPLETED")
        for future in finished:
            job = self._running.pop(future)
            try:
                self._finish(job, future.result())
            except BrokenProcessPool:
                self._retry_one_by_one([job, *self._running.values()])
                return

    def _retry_one_by_one(self, suspects: list[Job]) -> None:
        """A worker died, which ends the whole pool: the file that killed it is found by reading
        each file in flight in a process of its own."""
        self._running.clear()
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None
        for job in suspects:
            with _processes(1) as alone:
                try:
                    outcome = alone.submit(ingest_file, job, self._store.root, 1).result()
                except BrokenProcessPool:
                    problem = "the process that read it was killed, perhaps for want of memory"
                    fault = UserError(job.shown, problem, "try again with --jobs 1")
                    outcome = refuse(job, self._store, fault)
            self._finish(job, outcome)

    def _finish(self, job: Job, outcome: Outcome) -> None:
        if Path(job.file).parent.parent.parent == self._store.root / ".staging":
            Path(job.file).unlink(missing_ok=True)
        self._done(outcome)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                if self._first is not None:
                    outcome = ingest_file(self._first, self._store.root, self._jobs)
                    self._finish(self._first, outcome)
                while self._running:
                    self._collect()
        finally:
            if self._executor is not None:
                self._executor.shutdown(cancel_futures=True)
