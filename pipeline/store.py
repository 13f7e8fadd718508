"""The Parquet store: layout, atomic commit, what is in it, and DuckDB with every view.

    STORE/tracelake_store.json                     marks the folder as a store
    STORE/run_id=<run>/source_id=<id>/<table>-<n>-<commit>.parquet
    STORE/.staging/                                work in progress, never read

One folder holds everything that came from one source file, so a single rename makes it visible
or replaces it: readers of the Hive layout, ours or others', see the old state or the new.
"""

from __future__ import annotations

import ctypes
import difflib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote

from pipeline import catalog
from pipeline.archive import STORE_MARKER
from pipeline.errors import UserError
from pipeline.parquet import write_parquet

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

VERSION = 2
# Staged files are not called Parquet until they are committed: readers that search the whole
# store for *.parquet would find them.
_PART = ".part"
# Files of a table, together, that are read at once.
_SMALL_BYTES = 1_000_000
# Beyond this DuckDB spills to temp_directory: with what Python and Arrow hold, 5 million kernels
# then stay within 1.5 GB.
_MEMORY_LIMIT = "1100MB"
# Of a file or folder, on every file system in common use.
_LONGEST_NAME = 255

Outcome = Literal["stored", "replaced", "unchanged", "duplicate"]

# By folder: which state of it was read, and what was in it.
_RECALLED: dict[Path, tuple[tuple[int, int], Known | None]] = {}


@dataclass(frozen=True)
class Known:
    """What the store holds of a source file."""

    path: str
    host: str | None
    capture_start_utc_ns: int | None
    fingerprint: str | None
    stat_signature: str | None
    reader_hints: str | None
    status: str


def source_id(name: str, refused: bool = False) -> str:
    """Identity of a source file inside its run: its path below the run's folder.

    A refusal is kept under an identity of its own, so that it never replaces good data.
    """
    text = f"{name}\0refused" if refused else name
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


@dataclass
class Store:
    """A store's folder."""

    root: Path
    _known: dict[tuple[str, str], Known] | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Store:
        """The store at ``path``; :class:`UserError` when there is none or it is of another kind."""
        root = Path(path)
        marker = root / STORE_MARKER
        try:
            version = json.loads(marker.read_text(encoding="utf-8"))["version"]
        except FileNotFoundError:
            raise UserError(
                str(root),
                "no tracelake store here",
                "run 'tracelake ingest' or name it with --store",
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                str(marker), f"not a store's marker: {error}", "restore it or ingest anew"
            ) from error
        if version != VERSION:
            raise UserError(
                str(root),
                f"store of layout {version}; this tracelake reads layout {VERSION}",
                "ingest into a new store, or use the tracelake that wrote it",
            )
        return cls(root.resolve())

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Store:
        """The store at ``path``, made if there is none. A folder with other things is refused."""
        root = Path(path)
        if not (root / STORE_MARKER).exists():
            try:
                root.mkdir(parents=True, exist_ok=True)
                others = [entry.name for entry in root.iterdir() if entry.name[0] != "."]
                # Another process may be making the same store at this moment.
                if others and not (root / STORE_MARKER).exists():
                    raise UserError(
                        str(root), "folder is not empty and no store", "name another with --store"
                    )
                handle, name = tempfile.mkstemp(dir=root, prefix=".tracelake-")
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump({"version": VERSION}, file)
                os.chmod(name, 0o644)
                os.replace(name, root / STORE_MARKER)
            except OSError as error:
                raise UserError(
                    str(root), f"cannot make a store: {error.strerror}", "name another with --store"
                ) from error
        return cls.open(root)

    # -- what is in it ---------------------------------------------------------------------

    def known(self, run_id: str, name: str) -> Known | None:
        """What was stored of this file when the store was first asked, None if nothing."""
        if self._known is None:
            self._known = self._read_known()
        return self._known.get((run_id, source_id(name)))

    def _read_known(self) -> dict[tuple[str, str], Known]:
        connection = self._bare_connection()
        self._create_table(connection, catalog.tables()["source_file"])
        columns = ", ".join(field.name for field in fields(Known))
        rows = connection.execute(
            f"SELECT run_id, source_id, {columns} FROM source_file"
        ).fetchall()
        return {(run, source): Known(*rest) for run, source, *rest in rows}

    def _folder(self, run_id: str, source: str) -> Path:
        name = f"run_id={quote(run_id, safe='').replace('__HIVE', '%5F_HIVE')}"
        if len(name) > _LONGEST_NAME:
            raise UserError(
                f"run {run_id[:40]}...", "name too long for a folder", "choose one with --run"
            )
        return self.root / name / f"source_id={source}"

    def _committed(self, folder: Path, suffix: str = "") -> Known | None:
        import pyarrow.parquet as pq

        file = next(folder.glob(f"source_file-*.parquet{suffix}"), None)
        if file is None:
            return None
        columns = [field.name for field in fields(Known)]
        # partitioning=None: the folder's own name must not become a column.
        row = pq.read_table(file, columns=columns, partitioning=None).to_pylist()[0]
        return Known(**row)

    def _recalled(self, folder: Path) -> Known | None:
        """What is committed in a folder, read once for as long as it is the same folder: each
        file of a run is compared with all others of it."""
        try:
            state = folder.stat()
        except FileNotFoundError:  # just replaced
            return self._committed(folder)
        key = (state.st_ino, state.st_mtime_ns)
        if folder not in _RECALLED or _RECALLED[folder][0] != key:
            _RECALLED[folder] = key, self._committed(folder)
        return _RECALLED[folder][1]

    # -- writing ---------------------------------------------------------------------------

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """A place to write one source file's tables aside; gone afterwards, committed or not."""
        folder = self.root / ".staging" / uuid.uuid4().hex
        with self._commit_lock():  # before it holds its own lock, it would look abandoned
            folder.mkdir()
            lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o644)
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            (folder / "tables").mkdir()
            (folder / "work").mkdir()
            yield Staging(self, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)

    def clear_abandoned(self) -> int:
        """Removes what crashed processes left in .staging; the count of folders removed."""
        removed = 0
        with self._commit_lock():
            for folder in (self.root / ".staging").glob("*/"):
                try:
                    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o644)
                except FileNotFoundError:
                    continue  # its owner has just removed it
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
                    removed += 1
                except BlockingIOError:
                    pass  # its owner lives
                finally:
                    os.close(lock)
        return removed

    @contextmanager
    def _commit_lock(self) -> Iterator[None]:
        try:
            (self.root / ".staging").mkdir(exist_ok=True)
            lock = os.open(self.root / ".staging" / ".commit", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise UserError(
                str(self.root), f"cannot be written: {error.strerror}", "name another with --store"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _commit(self, tables: Path, run_id: str, name: str) -> tuple[Outcome, str]:
        """Makes a staged folder visible; returns what happened, and the twin of a duplicate."""
        new = self._committed(tables, _PART)
        assert new is not None, "a source file's tables include source_file"
        is_refusal = new.status == "refused"
        target = self._folder(run_id, source_id(name, is_refusal))
        with self._commit_lock():
            old = self._committed(target)
            if not is_refusal:
                # Readable now: whatever was wrong with it once is no longer true.
                shutil.rmtree(self._folder(run_id, source_id(name, True)), ignore_errors=True)
                if old and replace(old, stat_signature=new.stat_signature) == new:
                    self._touch(tables, target)
                    return "unchanged", ""
                twin = self._twin(target, new)
                if twin:
                    if old:  # its old content is gone, and its new one is there already
                        os.rename(target, tables.with_name("replaced"))
                    return "duplicate", twin
            target.parent.mkdir(exist_ok=True)
            _sync(tables)
            for file in tables.iterdir():
                file.rename(file.with_suffix(""))
            if target.exists():
                _exchange(tables, target)
            else:
                os.rename(tables, target)
            _sync_folder(target.parent)
        return ("replaced" if old else "stored"), ""

    def _keep(self, tables: Path, run_id: str, source: str) -> None:
        """Makes staged tables visible that were made from the store's own, not from a file."""
        target = self._folder(run_id, source)
        with self._commit_lock():
            if not target.parent.exists():
                raise UserError(f"run {run_id}", "left the store meanwhile", "start again")
            _sync(tables)
            for file in tables.iterdir():
                file.rename(file.with_suffix(""))
            if target.exists():
                _exchange(tables, target)
            else:
                os.rename(tables, target)
            _sync_folder(target.parent)

    def _touch(self, tables: Path, target: Path) -> None:
        """Same content under new times on disk: remember the times, so that it isn't read again."""
        (new,) = tables.glob(f"source_file-*{_PART}")
        (old,) = target.glob("source_file-*")
        os.replace(new, old)

    def _twin(self, target: Path, new: Known) -> str | None:
        """Another file of the same run with the same content; counting it twice would be wrong.

        A text that does not say whose it is may well be equal on two hosts (a topology): in
        folders of their own such files are two.
        """
        if new.fingerprint is None or not target.parent.exists():
            return None
        says_whose = new.host is not None or new.capture_start_utc_ns is not None
        for other in sorted(target.parent.iterdir()):
            known = self._recalled(other) if other != target else None
            if known and known.fingerprint == new.fingerprint and known.status != "refused":
                folders = PurePosixPath(known.path).parent, PurePosixPath(new.path).parent
                if says_whose or folders[0] == folders[1]:
                    return known.path
        return None

    # -- reading ---------------------------------------------------------------------------

    def _bare_connection(self, database: str = ":memory:") -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect(database)
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"SET temp_directory = {_literal(tempfile.gettempdir())}")
        limit = os.environ.get("TRACELAKE_MEMORY_LIMIT") or _MEMORY_LIMIT
        try:
            connection.execute(f"SET memory_limit = {_literal(limit)}")
        except duckdb.Error as error:
            raise UserError(
                "TRACELAKE_MEMORY_LIMIT", f"{limit!r} is no size", "write it as 4GB"
            ) from error
        # A nested-loop join is otherwise chosen for ASOF joins with few rows on one side.
        connection.execute("SET asof_loop_join_threshold = 0")
        return connection

    def connect(
        self,
        thresholds: Mapping[str, float] | None = None,
        runs: Sequence[str] | None = None,
        database: str = ":memory:",
        asked: Iterable[str] | None = None,
        kept: Iterable[str] = (),
    ) -> duckdb.DuckDBPyConnection:
        """DuckDB with every stored table, reference table and view.

        ``asked`` are the tables and views about to be asked: they and what they read are there,
        nothing else, which takes a fraction of the time; and what they come to more than once
        is computed here, once, and kept as tables. The views ``kept`` are asked and kept too.

        ``thresholds`` override rows of ``threshold``; ``runs`` leaves all other runs out, which
        in a store of many runs is far cheaper than a condition on ``run_id``; of the run that
        a ``run.toml`` of theirs names as baseline, the benchmarks of collectives stay. An
        unknown threshold or run is a :class:`UserError`.
        """
        folders = self._run_folders(runs)
        connection = self._bare_connection(database)
        kept = set(kept)
        named = [*(asked or ()), *sorted(kept)]
        wanted = catalog.reached(None if asked is None else named)
        self._add_reference(connection, thresholds or {}, wanted)
        tables = [table for table in catalog.tables().values() if table.name in wanted]
        queries = [query for query in catalog.queries().values() if query.name in wanted]
        # To make a view binds all that it comes to, and to bind Parquet is to look for its files,
        # a thousand times over. So each is made beside an empty table of its own, which the
        # next ones are bound to, and takes its name when all are there.
        for table in tables:
            connection.execute(table.ddl)
        for query in queries:
            connection.execute(f'CREATE VIEW "new {query.name}" AS {query.sql}')
            connection.execute(f'CREATE TABLE {query.name} AS FROM "new {query.name}" LIMIT 0')
        for query in queries:
            connection.execute(f"DROP TABLE {query.name}")
            connection.execute(f'ALTER VIEW "new {query.name}" RENAME TO {query.name}')
        baselines = self._baseline_folders(folders or [])
        for table in tables:
            connection.execute(f"DROP TABLE {table.name}")
            is_benchmark = table.name.startswith("collective_benchmark")
            more = baselines if folders and is_benchmark else []
            self._create_table(connection, table, folders and [*folders, *more])
        kept |= catalog.used_repeatedly(named)
        for query in queries:
            if query.name in kept:
                connection.execute(f"DROP VIEW {query.name}")
                connection.execute(f"CREATE TABLE {query.name} AS {query.sql}")
        return connection

    def _add_reference(
        self,
        connection: duckdb.DuckDBPyConnection,
        thresholds: Mapping[str, float],
        wanted: Collection[str],
    ) -> None:
        for name, file in catalog.reference().items():
            if name in wanted:
                connection.execute(
                    f"CREATE TABLE {name} AS FROM read_csv({_literal(str(file))}, header = true, "
                    "auto_detect = true, sample_size = -1)"
                )
        self._override(connection, thresholds)
        for macro in catalog.macros():
            connection.execute(macro)

    def lookups(
        self, views: Iterable[str], thresholds: Mapping[str, float]
    ) -> duckdb.DuckDBPyConnection:
        """DuckDB with ``views``, which read reference tables alone, and these."""
        views = list(views)
        connection = self._bare_connection()
        self._add_reference(connection, thresholds, catalog.reached(views))
        for name in views:
            connection.execute(f"CREATE VIEW {name} AS {catalog.queries()[name].sql}")
        return connection

    def bare(
        self, tables: Iterable[str], runs: Sequence[str] | None = None
    ) -> duckdb.DuckDBPyConnection:
        """DuckDB with these stored tables alone: in a store of thousands of runs to look for
        the files of all the others takes longer than to read what is wanted."""
        folders = self._run_folders(runs)
        connection = self._bare_connection()
        for name in tables:
            self._create_table(connection, catalog.tables()[name], folders)
        return connection

    def contents(self) -> dict[str, tuple[str, ...]]:
        """Of every run the files that say what is stored of it: other content, other names."""
        found: dict[str, tuple[str, ...]] = {}
        for run in self.runs():
            names = self._folder(run, "").parent.glob("source_id=*/source_file-*.parquet")
            found[run] = tuple(sorted(f"{file.parent.name}/{file.name}" for file in names))
        return {run: names for run, names in found.items() if names}

    def runs(self) -> list[str]:
        """Names of the runs in the store, sorted."""
        return sorted(unquote(f.name.removeprefix("run_id=")) for f in self.root.glob("run_id=*"))

    def _run_folders(self, runs: Sequence[str] | None) -> list[Path] | None:
        if runs is None:
            return None
        known = self.runs()
        for run in runs:
            if run not in known:
                near = difflib.get_close_matches(run, known, n=3, cutoff=0.4) or known[:5]
                way_out = f"there are: {', '.join(near)}" if near else "ingest something first"
                raise UserError(f"run {run}", f"not in the store {self.root}", way_out)
        return [self._folder(run, "").parent for run in runs]

    def _baseline_folders(self, folders: list[Path]) -> list[Path]:
        """Folders of the other runs that these runs name as their baselines."""
        import pyarrow.parquet as pq

        named: set[str] = set()
        for file in (f for one in folders for f in one.glob("source_id=*/run_description-*")):
            rows = pq.read_table(file, columns=["key", "value_text"], partitioning=None)
            named |= {r["value_text"] for r in rows.to_pylist() if r["key"] == "baseline.run"}
        found = [self._folder(run, "").parent for run in self.runs() if run in named]
        return [folder for folder in found if folder not in folders]

    def _override(
        self, connection: duckdb.DuckDBPyConnection, thresholds: Mapping[str, float]
    ) -> None:
        known = [name for (name,) in connection.execute("SELECT name FROM threshold").fetchall()]
        for name, value in thresholds.items():
            if name not in known:
                raise UserError(
                    f"--set {name}", "no such threshold", f"known: {', '.join(sorted(known))}"
                )
            connection.execute("UPDATE threshold SET value = ? WHERE name = ?", [value, name])

    def _create_table(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: catalog.Table,
        folders: list[Path] | None = None,
    ) -> None:
        """A view of the table's Parquet files; small ones are read, and without any the table
        is empty: a view binds its files anew at each mention."""
        import duckdb

        columns = ", ".join(column.name for column in table.columns)
        pattern = f"source_id=*/{table.name}-*.parquet"
        kind = "VIEW"
        if folders is None:
            globs = [f"{_no_glob(self.root)}/run_id=*/{pattern}"]
        else:  # DuckDB refuses a list in which any pattern finds nothing
            found = {folder: list(folder.glob(pattern)) for folder in folders}
            globs = [f"{_no_glob(folder)}/{pattern}" for folder, files in found.items() if files]
            if sum(_size(file) for files in found.values() for file in files) <= _SMALL_BYTES:
                kind = "TABLE"
        if not globs:
            connection.execute(table.ddl)
            return
        files = "[" + ", ".join(_literal(text) for text in globs) + "]"
        try:
            connection.execute(
                f"CREATE {kind} {table.name} AS SELECT {columns} FROM read_parquet({files}, "
                "hive_partitioning = true, "
                "hive_types = {'run_id': VARCHAR, 'source_id': VARCHAR})"
            )
        except duckdb.Error as error:
            if "No files found" not in str(error):
                problem = f"table {table.name} cannot be read: {str(error).splitlines()[0]}"
                way_out = "remove the damaged file's folder and ingest that source again"
                raise UserError(str(self.root), problem, way_out) from error
            connection.execute(table.ddl)


@dataclass(frozen=True)
class Staging:
    """One source file's tables being written aside."""

    store: Store
    folder: Path

    @property
    def work(self) -> Path:
        """A folder for temporary files, on the store's file system."""
        return self.folder / "work"

    def write(self, table: str, number: int, batches: Iterable[pa.RecordBatch]) -> int:
        """Writes part ``number`` of a table; the count of rows. No rows, no file."""
        # The folder's own name in it: a reader that is late must miss a replaced file, not
        # find another one in its place.
        name = f"{table}-{number}-{self.folder.name[:8]}.parquet{_PART}"
        file = self.folder / "tables" / name
        return write_parquet(file, table, batches)

    def commit(self, run_id: str, name: str) -> tuple[Outcome, str]:
        """Makes everything written visible in one step.

        Returns ``stored``, ``replaced`` (an older version of the file), ``unchanged`` (the same
        content is there already) or ``duplicate`` with the name of the twin in the same run.
        """
        return self.store._commit(self.folder / "tables", run_id, name)

    def keep(self, run_id: str, source: str) -> None:
        """Makes everything written visible as what was made of a run, in place of what was made
        before; ``source`` is a word, which no file's identity is."""
        self.store._keep(self.folder / "tables", run_id, source)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # replaced by another process at this moment
        return 0


def _no_glob(path: Path) -> str:
    """A path in which glob characters stand for themselves."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _sync(folder: Path) -> None:
    """Forces a folder's files to disk, so that a rename never shows files without content."""
    for file in folder.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def _exchange(one: Path, other: Path) -> None:
    """Swaps two folders in one atomic step (Linux renameat2(2), RENAME_EXCHANGE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    renameat2 = getattr(libc, "renameat2", None)
    code = errno.ENOSYS
    if renameat2 is not None:
        paths = os.fsencode(one), os.fsencode(other)
        if renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0:
            return
        code = ctypes.get_errno()
    raise UserError(
        str(other),
        f"this file system cannot replace a folder in one step: {os.strerror(code)}",
        "remove that folder first, or keep the store on ext4, XFS or Btrfs",
    )
