"""Files in, tables out: what is stored, what is refused, and that nothing is ever lost."""

import errno
import gzip
import io
import lzma
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from pipeline import catalog
from pipeline.cli import main
from pipeline.ingest import ingest
from pipeline.readers import smi_dmon, smi_query
from pipeline.readers.record import Facts, Recording
from pipeline.store import Staging, Store

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_traces"
TRACES = ROOT.parent / "shared" / "traces"
# The smallest sample with kernels; 12 pages and more.
WHOLE = lzma.decompress((SAMPLES / "cuda_graph/node_level.sqlite.xz").read_bytes())
PAGE = 4096
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"

Rows = list[tuple[Any, ...]]


def altered(folder: Path, *statements: str, whole: bytes = WHOLE) -> bytes:
    """The sample after some SQL."""
    file = folder / "altered.tmp"
    file.write_bytes(whole)
    with sqlite3.connect(file) as db:
        for statement in statements:
            db.execute(statement)
    db.close()
    content = file.read_bytes()
    file.unlink()
    return content


def other(folder: Path, number: int = 1) -> bytes:
    """The sample, all kernels later by some ns."""
    return altered(
        folder, f'UPDATE {KERNELS} SET start = start + {number}, "end" = "end" + {number}'
    )


def put(folder: Path, **files: bytes) -> Path:
    """Files by name; a__b.c is b.c in folder a."""
    for name, content in files.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


class Lake:
    """A store beside a folder of files, and the command line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = folder / "jobs"
        self.files.mkdir()
        self.path = folder / "store"

    def ingest(self, *paths: Path, jobs: int = 1, options: tuple[str, ...] = ()) -> Result:
        """Unknown faults are raised, not turned into an exit code."""
        given = [str(path) for path in paths or (self.files,)]
        command = ["ingest", *given, "--store", str(self.path), "--jobs", str(jobs), *options]
        return CliRunner().invoke(main, command, catch_exceptions=False)

    def sql(self, statement: str) -> Rows:
        """Asks a bare DuckDB, which is told the layout and knows nothing of our views."""
        connection = duckdb.connect()
        types = "hive_types = {'run_id': VARCHAR, 'source_id': VARCHAR}"
        for table in catalog.tables().values():
            if table.name in statement:
                files = f"{self.path}/run_id=*/source_id=*/{table.name}-*.parquet"
                read = f"CREATE VIEW {table.name} AS FROM read_parquet('{files}', {types})"
                is_there = any(self.path.glob(f"*/*/{table.name}-*.parquet"))
                connection.execute(read if is_there else table.ddl)
        return connection.execute(statement).fetchall()

    def sources(self) -> Rows:
        return self.sql("SELECT run_id, path, status FROM source_file ORDER BY ALL")

    def kernels(self) -> dict[tuple[str, str], int]:
        """First start of a kernel by run and file."""
        found = self.sql(
            "SELECT run_id, path, min(start_ns) FROM kernel JOIN source_file"
            " USING (run_id, source_id) GROUP BY ALL ORDER BY ALL"
        )
        return {(run, path): start for run, path, start in found}

    def bytes(self) -> dict[str, bytes]:
        """Every visible file."""
        files = [f for f in self.path.glob("run_id=*/**/*") if f.is_file()]
        return {str(f.relative_to(self.path)): f.read_bytes() for f in files}

    def assert_clean(self) -> None:
        assert list((self.path / ".staging").glob("*/*")) == []


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def faults(result: Result) -> list[str]:
    """What was refused; everything else on stderr is the summary or a warning."""
    return [line for line in result.stderr.splitlines() if line.startswith("tracelake: ")]


def tar(mode: str = "w", **files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


# -- good files ----------------------------------------------------------------------------


def test_the_same_again_is_a_no_op_that_says_so(lake: Lake) -> None:
    put(lake.files, a__rank0=WHOLE, b__rank0=WHOLE)
    first = lake.ingest()
    assert first.exit_code == 0 and "2 stored" in first.stderr and "2 runs" in first.stderr
    before = lake.bytes()
    again = lake.ingest()
    assert again.exit_code == 0 and again.stderr.startswith("2 unchanged; 2 runs in ")
    assert lake.bytes() == before
    lake.assert_clean()


def test_touching_a_file_changes_nothing(lake: Lake) -> None:
    file = put(lake.files, a__rank0=WHOLE) / "a" / "rank0"
    lake.ingest()
    tables = "SELECT * EXCLUDE stat_signature FROM source_file"
    before = lake.sql(tables), lake.kernels()
    os.utime(file, (1, 1))
    assert "1 unchanged" in lake.ingest().stderr
    assert (lake.sql(tables), lake.kernels()) == before


def test_a_changed_file_replaces_its_own_rows_only(lake: Lake, tmp_path: Path) -> None:
    put(lake.files, a__rank0=WHOLE, a__rank1=other(tmp_path, 1), b__rank0=WHOLE)
    lake.ingest()
    before = lake.kernels()
    put(lake.files, a__rank0=other(tmp_path, 5))
    assert "1 replaced, 2 unchanged" in lake.ingest().stderr
    changed = ("a", "rank0")
    assert lake.kernels() == {**before, changed: before[changed] + 5}


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "report": bytes,
    "report.dat": bytes,
    "report.gz": gzip.compress,
    "xz.sqlite": lzma.compress,
    "report.sqlite.zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
    "a.tar": lambda data: tar(rank0=data),
    "a.tgz": lambda data: tar("w:gz", **{"x.gz": gzip.compress(data)}),
    "a.tar.xz": lambda data: tar("w:xz", rank0=data),
    "a.tar.zst": lambda data: bytes(pa.compress(tar(rank0=data), "zstd", asbytes=True)),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_trace_is_known_by_its_content(lake: Lake, name: str) -> None:
    put(lake.files, **{f"run__{name}": PACKED[name](WHOLE)})
    assert lake.ingest().exit_code == 0
    [(run, _)] = lake.kernels()
    assert run == "run"
    assert "1 unchanged" in lake.ingest().stderr
    lake.assert_clean()


def test_a_zip_of_two_runs(lake: Lake, tmp_path: Path) -> None:
    with zipfile.ZipFile(lake.files / "all.zip", "w") as archive:
        archive.writestr("a/", b"")
        archive.writestr("a/rank0.sqlite", WHOLE)
        archive.writestr("b/notes.txt", b"hello")
        archive.writestr("b/n/rank0.sqlite.xz", lzma.compress(other(tmp_path)))
    assert lake.ingest().exit_code == 0
    names = ("all.zip!a/rank0.sqlite", "all.zip!b/n/rank0.sqlite.xz")
    assert sorted(lake.kernels()) == [("all", name) for name in names]
    lake.ingest(lake.files / "all.zip")
    split = [("a", "all.zip!rank0.sqlite"), ("b", "all.zip!n/rank0.sqlite.xz")]
    assert sorted(lake.kernels())[:2] == [split[0], ("all", names[0])]
    assert split[1] in lake.kernels()


def test_the_same_content_twice_in_a_run_counts_once(lake: Lake) -> None:
    put(lake.files, **{"r__rank0.sqlite": WHOLE, "r__rank0.sqlite.xz": lzma.compress(WHOLE)})
    result = lake.ingest()
    assert result.exit_code == 0
    assert "skipped: same content as rank0.sqlite, which is stored already" in result.stderr
    assert list(lake.kernels()) == [("r", "rank0.sqlite")]


def test_one_run_for_all(lake: Lake, tmp_path: Path) -> None:
    put(lake.files, a__rank0=WHOLE, b__rank0=other(tmp_path))
    lake.ingest(options=("--run", "odd = 100%"))
    assert list(lake.kernels()) == [
        ("odd = 100%", "jobs/a/rank0"),
        ("odd = 100%", "jobs/b/rank0"),
    ]


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_is_no_run(lake: Lake, name: str) -> None:
    result = lake.ingest(options=("--run", name))
    assert result.exit_code == 2 and "cannot name a run" in result.stderr


ODD = ["a b'\"c", "x=y", "50%41", "new\nline", "größe", "ü" * 40, "[x]*?", "--jobs", "bang!x"]


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_odd_names(lake: Lake, name: str) -> None:
    put(lake.files, **{f"{name}__{name}": WHOLE, f"{name}__bad.sqlite": b"junk"})
    result = lake.ingest()
    assert len(faults(result)) == 1 and len(result.stderr.splitlines()) == 2
    assert list(lake.kernels()) == [(name, name)]


def test_names_that_are_no_utf8(lake: Lake) -> None:
    folder = os.fsencode(lake.files) + b"/r\xff"
    os.mkdir(folder)
    for name in (b"\xe9", b"bad\xe9.sqlite"):
        with open(folder + b"/" + name, "wb") as file:
            file.write(WHOLE if name == b"\xe9" else b"junk")
    assert lake.ingest().exit_code == 2
    assert list(lake.kernels()) == [("r�", "�")]
    assert lake.ingest(Path(os.fsdecode(folder + b"/gone"))).exit_code == 2


def test_two_files_of_one_name_are_not_one_file(lake: Lake, tmp_path: Path) -> None:
    """Each node wrote the same job's files into a folder of its own."""
    one = put(tmp_path / "node0", **{"job__rank0.sqlite": WHOLE}) / "job"
    two = put(tmp_path / "node1", **{"job__rank0.sqlite": other(tmp_path)}) / "job"
    result = lake.ingest(one, two)
    assert "replaced" not in result.stderr
    assert result.exit_code == 2 or len(lake.kernels()) == 2


# -- input is only read ------------------------------------------------------------------------


def test_the_input_is_left_as_it_was(lake: Lake) -> None:
    put(lake.files, r__a=WHOLE, **{"r__b.sqlite": WHOLE[:-PAGE], "r__c.gz": gzip.compress(WHOLE)})

    def state() -> dict[str, tuple[int, bytes]]:
        files = sorted(lake.files.rglob("*"))
        return {f.name: (f.stat().st_mtime_ns, f.read_bytes()) for f in files if f.is_file()}

    before = state()
    lake.ingest()
    assert state() == before


# -- bad files ---------------------------------------------------------------------------------

MALFORMED = "damaged SQLite file"
BAD: dict[str, tuple[bytes, str]] = {
    "empty.sqlite": (b"", "empty file"),
    "zeros.sqlite": (bytes(len(WHOLE)), "begins with zeros"),
    "junk.sqlite": (b"hello" * 99, "not a SQLite database"),
    "lfs.sqlite": (LFS, "a Git LFS pointer"),
    "lfs_under_another_name": (LFS, "a Git LFS pointer"),
    "report.nsys-rep": (b"\x01\x02" * 99, "an Nsight Systems report"),
    "header.sqlite": (WHOLE[:50], MALFORMED),
    "first_page.sqlite": (WHOLE[:PAGE], MALFORMED),
    "mid_page.sqlite": (WHOLE[: len(WHOLE) // 2 + 100], MALFORMED),
    "last_page.sqlite": (WHOLE[:-PAGE], MALFORMED),
    "page_size.sqlite": (WHOLE[:16] + b"\x00\x07" + WHOLE[18:], MALFORMED),
    "no_schema.sqlite": (WHOLE[:100] + bytes(PAGE - 100) + WHOLE[PAGE:], ""),
    "junk.sqlite.gz": (gzip.compress(b"junk"), "not a SQLite database"),
    "cut.sqlite.gz": (gzip.compress(WHOLE)[:-200], "damaged gzip data"),
    "cut.sqlite.xz": (lzma.compress(WHOLE)[:-200], "damaged xz data"),
    "cut.sqlite.zst": (bytes(pa.compress(WHOLE, "zstd", asbytes=True))[:-200], "damaged zstd data"),
    "not_really.sqlite.gz": (b"\x1f\x8b" + b"junk" * 99, "damaged gzip data"),
    "empty.sqlite.gz": (gzip.compress(b""), "empty file"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line_and_the_good_are_stored(lake: Lake, name: str) -> None:
    content, problem = BAD[name]
    put(lake.files, **{f"r__{name}": content, "r__good.sqlite": WHOLE})
    result = lake.ingest()
    assert result.exit_code == 2
    [line] = faults(result)
    assert f"{name}: {problem}" in line and "; " in line
    assert list(lake.kernels()) == [("r", "good.sqlite")]
    assert lake.sources() == sorted([("r", name, "refused"), ("r", "good.sqlite", "complete")])
    said = lake.sql("SELECT severity, place FROM ingest_issue WHERE severity = 'error'")
    assert said == [("error", name)]
    lake.assert_clean()


@pytest.mark.parametrize("name", ["junk.txt", "x.db.gz"])
def test_what_is_no_trace_is_refused_only_when_named(lake: Lake, name: str) -> None:
    put(lake.files, **{f"r__{name}": b"junk", "r__good.sqlite": WHOLE})
    walked = lake.ingest()
    assert walked.exit_code == 0 and "1 not traces" in walked.stderr
    named = lake.ingest(lake.files / "r" / name)
    assert named.exit_code == 2 and "not a trace that tracelake knows" in named.stderr


def test_nothing_there(lake: Lake) -> None:
    assert "no traces here" in lake.ingest().stderr
    assert "no such file" in lake.ingest(lake.files / "gone").stderr
    assert lake.ingest(lake.path).exit_code == 2  # a store is not input


@pytest.mark.parametrize("lost", [1, 100, PAGE - 1])
def test_a_part_of_the_last_page_may_be_lost(lake: Lake, lost: int) -> None:
    put(lake.files, **{"r__bad.sqlite": WHOLE[:-lost]})
    result = lake.ingest()
    assert result.exit_code == 2 and MALFORMED in faults(result)[0]


@pytest.mark.parametrize("page", range(1, len(WHOLE) // PAGE))
def test_any_page_may_be_lost(lake: Lake, page: int) -> None:
    """Ends in rows or one line; other files are stored in either case."""
    lost = WHOLE[: page * PAGE] + bytes(PAGE) + WHOLE[(page + 1) * PAGE :]
    put(lake.files, **{"r__bad.sqlite": lost, "r__good.sqlite": WHOLE})
    result = lake.ingest()
    assert result.exit_code in (0, 2)
    assert len(faults(result)) == (result.exit_code == 2)
    assert ("r", "good.sqlite") in lake.kernels()


def large(folder: Path) -> bytes:
    """The sample with 9000 kernels, 0.7 MB: far more than the beginning by which it is known."""
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)"
    columns = '(start, "end", deviceId, contextId, streamId, globalPid, demangledName, shortName'
    columns += ", correlationId, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ"
    columns += ", staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal"
    values = "i, i + 1, 0, 1, 7, 281474976710656, 0, 0, i * 7919 % 104729, i * 31 % 97" + ", 1" * 10
    insert = f"INSERT INTO {KERNELS} {columns}, gridId) {rows} SELECT {values}, i FROM n"
    return altered(folder, insert)


def test_damage_found_only_while_reading(lake: Lake, tmp_path: Path) -> None:
    content = bytearray(large(tmp_path))
    end = len(content) // PAGE // 2 * PAGE
    content[end - 5 * PAGE : end] = bytes(5 * PAGE)
    put(lake.files, **{"r__bad.sqlite": bytes(content), "r__good.sqlite": WHOLE})
    result = lake.ingest()
    assert result.exit_code == 2 and len(faults(result)) == 1
    assert list(lake.kernels()) == [("r", "good.sqlite")]


def test_damage_in_the_schema(lake: Lake) -> None:
    broken = WHOLE.replace(b"NOT NULL", b"NOT NUL\x96", 1)
    put(lake.files, **{"r__bad.sqlite": broken, "r__good.sqlite": WHOLE})
    result = lake.ingest()
    assert result.exit_code == 2 and len(faults(result)) == 1


def cut(archive: bytes) -> bytes:
    return archive[: len(archive) * 6 // 10]


def flipped(archive: bytes) -> bytes:
    middle = len(archive) // 2
    return (
        archive[:middle]
        + bytes(b ^ 0xFF for b in archive[middle : middle + 50])
        + archive[middle + 50 :]
    )


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("rank0.sqlite", content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "pack", "damage"),
    [
        ("a.tar", lambda data: tar(rank0=data), cut),
        ("a.tar.gz", lambda data: tar("w:gz", rank0=data), cut),
        ("a.tar.gz", lambda data: tar("w:gz", rank0=data), flipped),
        ("a.tar.xz", lambda data: tar("w:xz", rank0=data), cut),
        ("a.tar.xz", lambda data: tar("w:xz", rank0=data), flipped),
        ("a.zip", zipped, flipped),
    ],
)
def test_an_archive_damaged_far_into_a_member(
    lake: Lake, tmp_path: Path, name: str, pack: Any, damage: Any
) -> None:
    archive = damage(pack(large(tmp_path)))
    put(lake.files, **{f"r__{name}": archive, "z__good.sqlite": WHOLE})
    result = lake.ingest()
    assert result.exit_code == 2 and len(faults(result)) == 1
    assert list(lake.kernels()) == [("z", "good.sqlite")]


def test_an_archive_damaged_between_members(lake: Lake) -> None:
    archive = tar(a__rank0=WHOLE, b__rank0=WHOLE)[: len(WHOLE) + 1600]
    put(lake.files, **{"x.tar": archive, "z__good.sqlite": WHOLE})
    result = lake.ingest()
    assert result.exit_code == 2 and "damaged archive" in faults(result)[0]
    assert list(lake.kernels()) == [("x", "x.tar!a/rank0"), ("z", "good.sqlite")]


def test_a_good_file_that_goes_bad_keeps_its_rows(lake: Lake) -> None:
    put(lake.files, r__rank0=WHOLE)
    lake.ingest()
    before = lake.kernels()
    for bad in (WHOLE[:-PAGE], b"", b"junk", LFS):
        put(lake.files, r__rank0=bad)
        lake.ingest()
        assert lake.kernels() == before
    put(lake.files, r__rank0=LFS)
    assert lake.ingest().exit_code == 2
    assert lake.sources() == [("r", "rank0", "complete"), ("r", "rank0", "refused")]
    (lake.files / "r" / "rank0").unlink()
    lake.ingest()
    assert lake.kernels() == before


def test_without_gpu_work_there_are_no_gpu_rows_and_a_word_about_it(lake: Lake) -> None:
    result = lake.ingest(SAMPLES / "cpu_only")
    assert result.exit_code == 0
    assert "no GPU activity was captured" in result.stderr
    for table in ("kernel", "graph_launch", "memory_copy", "memory_set"):
        assert lake.sql(f"FROM {table}") == []


def test_an_export_without_its_end_is_stored_and_doubted(lake: Lake, tmp_path: Path) -> None:
    cut_short = altered(tmp_path, "DELETE FROM META_DATA_EXPORT WHERE name = 'EXPORT_TIME'")
    put(lake.files, r__rank0=cut_short)
    result = lake.ingest()
    assert result.exit_code == 0 and "may be cut short" in result.stderr
    assert lake.sources() == [("r", "rank0", "incomplete")]
    put(lake.files, r__rank0=WHOLE)
    lake.ingest()
    assert lake.sources() == [("r", "rank0", "complete")]


@pytest.mark.real_traces
@pytest.mark.skipif(not TRACES.exists(), reason="the published exports are not here")
def test_real_broken_files(lake: Lake) -> None:
    result = lake.ingest(TRACES / "nsys_broken")
    assert result.exit_code == 2
    said = "\n".join(faults(result))
    assert len(faults(result)) == 3
    for problem in ("the export failed", "a Git LFS pointer", "damaged SQLite file"):
        assert problem in said


# -- other programs' databases -----------------------------------------------------------------


def mlflow(folder: Path) -> bytes:
    path = folder / "mlflow.tmp"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE runs (id)")
    db.close()
    content = path.read_bytes()
    path.unlink()
    return content


def test_another_programs_database_is_passed_over_in_a_walk(lake: Lake, tmp_path: Path) -> None:
    put(lake.files, **{"r__mlflow.db": mlflow(tmp_path), "r__rank0": WHOLE})
    result = lake.ingest()
    assert result.exit_code == 0 and "1 not traces" in result.stderr
    assert lake.sources() == [("r", "rank0", "complete")]


def test_another_programs_database_does_not_join_runs(lake: Lake, tmp_path: Path) -> None:
    put(lake.files, **{"mlflow.db": mlflow(tmp_path), "a__rank0": WHOLE, "b__rank0": WHOLE})
    lake.ingest()
    assert list(lake.kernels()) == [("a", "rank0"), ("b", "rank0")]


def test_another_programs_database_is_refused_when_named(lake: Lake, tmp_path: Path) -> None:
    put(lake.files, **{"mlflow.db": mlflow(tmp_path)})
    result = lake.ingest(lake.files / "mlflow.db")
    assert result.exit_code == 2
    assert "a SQLite database, but not an Nsight Systems export" in faults(result)[0]


def test_a_report_beside_its_export_is_no_fault(lake: Lake) -> None:
    put(lake.files, **{"r__rank0.nsys-rep": b"\x01\x02" * 99, "r__rank0.sqlite": WHOLE})
    assert lake.ingest().exit_code == 0


# -- the store -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["a file", "other things", "another layout"])
def test_a_store_that_cannot_be(lake: Lake, kind: str) -> None:
    put(lake.files, r__rank0=WHOLE)
    if kind == "a file":
        lake.path.write_text("precious")
    else:
        name = "tracelake_store.json" if kind == "another layout" else "precious"
        put(lake.path, **{name: b'{"version": 99}'})
    before = {f: f.read_bytes() for f in lake.folder.rglob("*") if f.is_file()}
    result = lake.ingest()
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    assert {f: f.read_bytes() for f in lake.folder.rglob("*") if f.is_file()} == before


def test_a_store_inside_the_ingested_folder(lake: Lake) -> None:
    put(lake.files, r__rank0=WHOLE)
    lake.path = lake.files / "store"
    for _ in range(2):
        assert lake.ingest().exit_code == 0
        assert list(lake.kernels()) == [("r", "rank0")]


def denied(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_a_store_that_is_only_readable(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    put(lake.files, r__rank0=WHOLE)
    Store.create(lake.path)
    monkeypatch.setattr(Path, "mkdir", denied)  # a mode would not stop root
    result = lake.ingest()
    assert result.exit_code == 2 and len(faults(result)) == 1


@pytest.mark.parametrize("table", ["kernel", "source_file"])
def test_a_full_disk_loses_nothing(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    put(lake.files, r__rank0=WHOLE, r__rank1=other(tmp_path, 1))
    lake.ingest()
    before = lake.kernels()
    put(lake.files, r__rank0=other(tmp_path, 2))
    write = Staging.write

    def full(staging: Staging, name: str, *arguments: Any) -> int:
        if name == table:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(staging, name, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Staging, "write", full)
        result = lake.ingest()
        assert result.exit_code == 2
        assert "No space left on device" in faults(result)[0]
    assert lake.kernels() == before
    lake.assert_clean()
    assert "1 replaced" in lake.ingest().stderr


# -- crashes ---------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
import pipeline.store as store
from pipeline import catalog
from pipeline.cli import main
place, nth = sys.argv.pop(1), int(sys.argv.pop(1))
module = os if hasattr(os, place) else store
original, count = getattr(module, place), 0
def kill(*arguments):
    global count
    count += 1
    if count == nth:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments)
setattr(module, place, kill)
main()
"""


@pytest.mark.parametrize(
    ("place", "nth"),
    [("write_parquet", 3), ("_sync", 1), ("_exchange", 1), ("_sync_folder", 2), ("rename", 1)],
)
def test_kill_at_any_moment_leaves_the_old_state_or_the_new(
    lake: Lake, tmp_path: Path, place: str, nth: int
) -> None:
    put(lake.files, a__rank0=WHOLE)
    lake.ingest()
    old = lake.kernels()[("a", "rank0")]
    put(lake.files, a__rank0=other(tmp_path, 5), b__rank0=WHOLE)
    command = [sys.executable, "-c", KILLED, place, str(nth), "ingest", str(lake.files)]
    command += ["--store", str(lake.path), "--jobs", "1"]
    run = subprocess.run(command, check=False, capture_output=True, cwd=ROOT)
    assert run.returncode == -signal.SIGKILL
    assert list((lake.path / ".staging").glob("*/lock"))
    assert lake.kernels()[("a", "rank0")] in (old, old + 5)
    lake.ingest()
    assert lake.kernels() == {("a", "rank0"): old + 5, ("b", "rank0"): old}
    lake.assert_clean()
    assert "2 unchanged" in lake.ingest().stderr


# -- many at once ----------------------------------------------------------------------------------


def content_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """All tables, whichever way their rows were cut into files, without times on disk."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(path.glob("run_id=*/*/*.parquet")):
        table = file.name.split("-")[0]
        folder = str(file.parent.relative_to(path))
        rows = pq.read_table(file, partitioning=None).to_pylist()
        tables.setdefault(table, []).extend({**row, "folder": folder} for row in rows)
    return {table: sorted(rows, key=repr) for table, rows in tables.items()}


def test_workers_and_threads_give_the_same_rows(tmp_path: Path) -> None:
    files = [SAMPLES / "two_processes_one_file", SAMPLES / "gpu_metrics"]
    stores = []
    for jobs in (1, 2):
        store = Store.create(tmp_path / str(jobs))
        ingest(files, store, jobs=jobs)
        stores.append(content_of(store.root))
    threads = Store.create(tmp_path / "threads")
    for file in sorted(f for folder in files for f in folder.glob("*.xz")):
        ingest([file], threads, jobs=3)
    stores.append(content_of(threads.root))
    assert stores[0] == stores[1] == stores[2]
    assert stores[0]["kernel"] and stores[0]["gpu_sample"]


def test_processes_ingest_into_a_fresh_store_at_once(lake: Lake, tmp_path: Path) -> None:
    for i in range(3):
        put(lake.files / f"own{i}", rank0=other(tmp_path, i))
    put(lake.files / "shared", rank0=WHOLE)
    running = []
    for i in range(3):
        paths = [str(lake.files / name) for name in (f"own{i}", "shared")]
        command = [sys.executable, "-m", "pipeline", "ingest", *paths]
        command += ["--store", str(lake.path), "--jobs", "1"]
        running.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True))
    said = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], said
    assert [run for run, _ in sorted(lake.kernels())] == ["own0", "own1", "own2", "shared"]
    lake.assert_clean()


# -- privacy ---------------------------------------------------------------------------------------

SECRET = "hunter2xyzzy"


def test_nothing_private_reaches_the_store(lake: Lake, tmp_path: Path) -> None:
    environ = f"HOME=/data/{SECRET}' || char(0) || 'API_KEY={SECRET}"
    system = "INSERT INTO TARGET_INFO_SYSTEM_ENV (devStateName, name, nameEnum, value) VALUES "
    capture = "INSERT INTO META_DATA_CAPTURE (name, value) VALUES "
    content = altered(
        tmp_path,
        "DELETE FROM META_DATA_CAPTURE",
        f"INSERT INTO StringIds VALUES (900001, '{environ}'), (900002, 'log of {SECRET}')",
        "CREATE TABLE IF NOT EXISTS ProcessStreams (globalPid, filenameId, contentId)",
        "INSERT INTO ProcessStreams VALUES (1, 900001, 900002)",
        f"{system} ('', 'DeviceEnvironment', 1, 'A=1;TOKEN={SECRET};B={SECRET};RANK=3')",
        f"{system} ('', 'UserName', 1, '{SECRET}'), ('', 'CpuInfo', 1, '{SECRET}')",
        f"{capture} ('PROCESS_0:ENVIRONMENT_VARIABLE', 'API_KEY=\"{SECRET}\"')",
        f"{capture} ('PROCESS_0:ENVIRONMENT_VARIABLE', 'NCCL_COMM_ID=\"{SECRET}:1\"')",
        f"{capture} ('PROCESS_0:ENVIRONMENT_VARIABLE', 'SLURM_NODELIST=\"{SECRET}[0-9]\"')",
        f"{capture} ('PROCESS_0:ENVIRONMENT_VARIABLE', 'NCCL_DEBUG=\"INFO\"')",
        f"{capture} ('PROCESS_0:ARGUMENT_1', '--token={SECRET}')",
        f"{capture} ('PROCESS_0:USER_NAME', '{SECRET}')",
        f"{capture} ('PROCESS_0:WORKING_DIR', '/data/{SECRET}')",
        f"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_USER', '{SECRET}')",
        f"UPDATE PROCESSES SET name = '/data/{SECRET}/python3 --token {SECRET}'",
        "INSERT INTO DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text)"
        f" VALUES (1, 1, 1, 3, 'cannot write /data/{SECRET}/x.log')",
    )
    assert content.count(SECRET.encode()) > 10
    put(lake.files, r__rank0=content)
    result = lake.ingest()
    assert result.exit_code == 0 and SECRET not in result.output
    settings = dict(lake.sql("SELECT name, value FROM setting"))
    assert (settings["NCCL_DEBUG"], settings["RANK"]) == ("INFO", "3")
    assert "API_KEY" not in settings
    for file, stored in lake.bytes().items():
        assert SECRET.encode() not in stored, file  # statistics are not compressed
        assert SECRET not in str(pq.read_table(lake.path / file, partitioning=None).to_pylist())


def test_the_secret_of_the_samples_is_not_in_the_store(sample_store: Path) -> None:
    private = ("s3cr3t", "someone")  # and so no folder of theirs
    for file in sample_store.glob("run_id=*/*/*.parquet"):
        values = str(pq.read_table(file, partitioning=None).to_pylist())
        assert not [word for word in private if word in values], file


def test_every_stored_row_counts(sample_store: Path) -> None:
    """row_count of source_file is what lies in the Parquet files beside it."""
    about = ("source_file-", "ingest_issue-")
    for file in sample_store.glob("run_id=*/*/source_file-*.parquet"):
        [row] = pq.read_table(file, partitioning=None).to_pylist()
        parts = [part for part in file.parent.iterdir() if not part.name.startswith(about)]
        assert row["row_count"] == sum(pq.read_metadata(part).num_rows for part in parts)
        assert row["fingerprint"] and row["size_bytes"] and row["format"]


def test_a_bare_duckdb_reads_what_was_ingested(sample_store: Path) -> None:
    count = "SELECT run_id, count(*) FROM read_parquet('{}/run_id=*/*/kernel-*.parquet') GROUP BY 1"
    found = dict(duckdb.sql(count.format(sample_store)).fetchall())
    assert found["ddp_healthy"] == found["ddp_late_rank"] > 0


# -- several formats in one file -----------------------------------------------------------

DMON = "# gpu    pwr\n# Idx      W\n    0     12\n"
QUERY = "timestamp, index, power.draw [W]\n2026/07/14 08:12:53.353, 0, 12.5 W\n"
MONITOR = '{"time": "2026-07-14 09:00:00", "gpu_usage:0": 56, "gpu_usage:1": 50}\n'


def test_formats_that_count_from_different_moments_are_told(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(QUERY + "\n" + MONITOR)
    summary = ingest([tmp_path / "job.log"], Store.create(tmp_path / "store"), jobs=1)
    (issue,) = (i for i in summary.outcomes[0].issues if i.severity == "warning")
    assert "times of nvidia-smi-query count from another moment than those of " in issue.problem


def test_formats_of_which_one_has_no_clock_are_not(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(QUERY + "\n" + DMON)
    summary = ingest([tmp_path / "job.log"], Store.create(tmp_path / "store"), jobs=1)
    assert [i for i in summary.outcomes[0].issues if i.severity == "warning"] == []


def test_a_recording_is_closed_when_the_next_reader_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    def opened(*_: object) -> Recording:
        return Recording(Facts("x"), [], close=lambda: closed.append("x"))

    def failing(*_: object) -> Recording:
        raise RuntimeError("unknown")

    monkeypatch.setattr(smi_dmon, "read", opened)
    monkeypatch.setattr(smi_query, "read", failing)
    (tmp_path / "job.log").write_text(DMON + QUERY)
    with pytest.raises(RuntimeError):
        ingest([tmp_path / "job.log"], Store.create(tmp_path / "store"), jobs=1)
    assert closed == ["x"]


def test_warnings_say_how_many_lines_they_are_about(tmp_path: Path) -> None:
    (tmp_path / "gpus.txt").write_text(DMON + "    0    x12\n" * 3 + "    0     13\n")
    store = str(tmp_path / "store")
    result = CliRunner().invoke(main, ["ingest", str(tmp_path / "gpus.txt"), "--store", store])
    assert result.exit_code == 0
    assert "line 4: a row that does not read as numbers: '0 x12' (and 2 more); " in result.stderr
