"""Files in, committed tables out: the loop over inputs, the pool of workers, the outcomes."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline import catalog
from pipeline.archive import (
    HEAD_BYTES,
    TEXT_HEAD_BYTES,
    DamagedData,
    Found,
    plain_file,
    plain_name,
    text_encoding,
    walk,
)
from pipeline.errors import UserError
from pipeline.readers import READERS
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Issue,
    NotThisFormat,
    Part,
    Recording,
    Refused,
    Status,
)
from pipeline.store import Staging, Store

if TYPE_CHECKING:
    from types import ModuleType

OutcomeKind = Literal["stored", "replaced", "unchanged", "duplicate", "refused", "ignored"]

_LFS = b"version https://git-lfs.github.com/spec/"
_TAIL_BYTES = 256 << 10
_BY_CERTAINTY: tuple[Status, ...] = ("unknown", "complete", "incomplete", "refused")
# Sources quote what they read and write: without being named, none is taken for a trace.
_SOURCE_CODE = (
    *(".c", ".cc", ".cpp", ".cu", ".cuh", ".go", ".h", ".hpp", ".html", ".ipynb", ".java", ".js"),
    *(".lua", ".pl", ".py", ".pyi", ".r", ".rs", ".sh", ".sql", ".ts"),
)
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
    hints: Hints = NO_HINTS,
) -> Summary:
    """Ingests every trace under ``paths``; a bad file is an outcome, never the end of the batch.

    Up to ``jobs`` processes read one file each (default: one per core); a single file is read
    by that many threads. ``on_outcome`` is called as each file is done. ``hints`` help readers of
    formats that leave things unsaid.
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
                held = [_take(found, store, fetched, pool, done, hints) for found in files]
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
    hints: Hints,
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
    is_same = known and known.stat_signature == found.signature
    if known and is_same and known.reader_hints == (str(hints) or None):
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
        hints,
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
    if _is_source_code(name):
        return False
    # A compressed file is not unpacked for this: its beginning must do.
    return _has_reader(Head(head, name, file if file.name == name else None))


def _has_reader(head: Head) -> bool:
    """Whether any reader recognises it: looking for all of them takes much longer."""
    return any(reader.recognise(head) for reader in READERS)


def _readers_for(head: Head) -> list[ModuleType]:
    return [reader for reader in READERS if reader.recognise(head)]


def _is_source_code(name: str) -> bool:
    return name.lower().endswith(_SOURCE_CODE)


def _is_called_trace(name: str) -> bool:
    return name.lower().endswith(tuple(s for reader in READERS for s in reader.SUFFIXES))


def _fault_of_head(found: Found) -> UserError | None:
    """What is wrong with a file as far as its beginning tells, None if a reader can try it."""
    if found.problem is not None:
        if found.is_named or _is_called_trace(found.plain_name):
            return UserError(found.shown, found.problem, "copy it again")
        return UserError(found.shown, _NOT_A_TRACE, _KNOWN_TRACES)
    if found.head.startswith(_LFS):
        return UserError(
            found.shown, "a Git LFS pointer, not the file itself", "fetch it with 'git lfs pull'"
        )
    if _is_source_code(found.plain_name) and not found.is_named:
        return UserError(found.shown, _NOT_A_TRACE, _KNOWN_TRACES)
    head = Head(found.head, found.plain_name)
    if _has_reader(head):
        return None
    beside = [] if found.is_named else _beside(Path(found.shown))
    for reader in READERS:
        why_not = getattr(reader, "why_not", None)
        refused = why_not(head, beside) if why_not else None
        if refused:
            return UserError(found.shown, refused.problem, refused.way_out)
    return UserError(found.shown, _NOT_A_TRACE, _KNOWN_TRACES)


def _beside(file: Path) -> list[str]:
    """The names in a file's folder; none where it lies in an archive."""
    try:
        return os.listdir(file.parent)
    except OSError:
        return []


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
    hints: Hints


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
    # Read by one thread a table is one piece; more pieces than threads even out their lengths.
    recordings = _open(job, plain, 1 if threads == 1 else 4 * threads)
    numbers: Counter[str] = Counter()
    try:
        with ThreadPoolExecutor(threads) as pool:
            fingerprint = pool.submit(_fingerprint, plain)
            rows = sum(_write_parts(r.parts, staging, numbers, pool) for r in recordings)
            for recording in recordings:
                for part in recording.closing_parts:
                    rows += _write_part(staging, part, numbers)
            digest = fingerprint.result()
    finally:
        for recording in recordings:
            recording.close()
    issues = _issues(recordings)
    kept = [recording.facts for recording in recordings if not recording.refusal]
    issues += _clock_issues(kept)
    facts = _facts(kept)
    _write_rows(staging, "source_file", [_source_row(job, facts, digest, rows)])
    _write_rows(staging, "ingest_issue", [_issue_row(job.name, issue) for issue in issues])
    kind, twin = staging.commit(job.run_id, job.name)
    detail = f"same content as {twin}, which is stored already" if twin else ""
    stored_rows = rows if kind in ("stored", "replaced") else 0
    return replace(_outcome(kind, job, detail), row_count=stored_rows, issues=tuple(issues))


def _open(job: Job, plain: Path, pieces: int) -> list[Recording]:
    """The file as each reader that recognises it sees it."""
    name = plain_name(job.name)
    readers = _readers_for(Head(_ends(plain), name))  # without the file: read decides
    recordings: list[Recording] = []
    faults: list[Exception] = []
    for reader in readers:
        try:
            recordings.append(reader.read(plain, job.name, pieces, job.hints))
        except (NotThisFormat, Refused) as error:
            faults.append(error)
        except BaseException:
            for recording in recordings:
                recording.close()
            raise
    if not recordings:
        raise faults[0] if faults else NotThisFormat(_NOT_A_TRACE)
    for fault in faults:
        if isinstance(fault, Refused):
            recordings[0].report(Issue("warning", "", fault.problem, fault.way_out))
    return recordings


def _ends(plain: Path) -> bytes:
    """The beginning of a file and, of text, its end: a job's epilogue may append to its log."""
    with plain.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
        if text_encoding(head) != "utf-8":
            return head + stream.read(TEXT_HEAD_BYTES - len(head)) if text_encoding(head) else head
        head += stream.read(TEXT_HEAD_BYTES - len(head))
        at = stream.tell()
        stream.seek(max(at, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return head + stream.read(_TAIL_BYTES)


def _issues(recordings: list[Recording]) -> list[Issue]:
    """What was skipped; raises the refusal of a file in which no reader found anything."""
    refusals = [recording.refusal for recording in recordings if recording.refusal]
    if len(refusals) == len(recordings):
        raise refusals[0]
    told = [Issue("warning", "", refusal.problem, refusal.way_out) for refusal in refusals]
    return [issue for recording in recordings for issue in recording.issues] + told


def _clock_issues(found: list[Facts]) -> list[Issue]:
    """That formats of one file count from different moments, of which only one is stored."""
    zeros = {
        facts.format: (facts.capture_start_utc_ns, facts.capture_start_local_ns)
        for facts in found
        if facts.capture_start_utc_ns is not None
        or facts.capture_start_local_ns is not None
        or facts.capture_dur_ns is not None
    }
    if len(set(zeros.values())) < 2:
        return []
    first = next(name for name, zero in zeros.items() if zero != (None, None))
    others = ", ".join(name for name, zero in zeros.items() if zero != zeros[first])
    problem = f"times of {others} count from another moment than those of {first}"
    way_out = f"the start stored is that of {first}: split the file to have both"
    return [Issue("warning", "", problem, way_out)]


def _facts(found: list[Facts]) -> Facts:
    """What several readers know of one file, as one: the first that knows a thing says it."""
    merged = Facts(", ".join(facts.format for facts in found))
    for name in vars(merged):
        if name not in ("format", "status", "status_reason"):
            known = (getattr(facts, name) for facts in found)
            setattr(merged, name, next((value for value in known if value is not None), None))
    statuses = {facts.status for facts in found}
    merged.status = (
        "incomplete" if "incomplete" in statuses else min(statuses, key=_BY_CERTAINTY.index)
    )
    reasons = dict.fromkeys(facts.status_reason for facts in found if facts.status_reason)
    merged.status_reason = "; ".join(reasons) or None
    return merged


def _write_parts(
    parts: list[Part], staging: Staging, numbers: Counter[str], pool: ThreadPoolExecutor
) -> int:
    waiting: list[Future[int]] = []
    for part in parts:
        numbers[part.table] += 1
        waiting.append(
            pool.submit(staging.write, part.table, numbers[part.table] - 1, part.batches())
        )
    try:
        return sum(future.result() for future in waiting)
    finally:
        for future in waiting:
            future.cancel()


def _write_part(staging: Staging, part: Part, numbers: Counter[str]) -> int:
    numbers[part.table] += 1
    return staging.write(part.table, numbers[part.table] - 1, part.batches())


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
        "reader_hints": str(job.hints) or None if isinstance(job, Job) else None,
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
