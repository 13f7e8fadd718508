"""The page decoder against the driver, and both against a plain SELECT."""

import contextlib
import dataclasses
import itertools
import lzma
import os
import random
import sqlite3
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.readers import sqlite_pages
from pipeline.readers.sqlite_pages import DamagedDatabase, SqliteFile

TRACES = Path(__file__).resolve().parents[2] / ".." / "shared" / "traces"
REAL = sorted([*TRACES.glob("nsys/*.sqlite.xz"), *TRACES.glob("nsys_broken/*.sqlite.xz")])
KINDS = {"INTEGER": "int", "REAL": "float", "TEXT": "text", "BLOB": "bytes"}


def make(path, *statements, page_size=4096, reserved=0):
    """A database made by the given statements; (sql, rows) runs once per row."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA page_size = {page_size}")
        db.execute("VACUUM")
    db.close()
    if reserved:  # only possible while page 1 is empty: header byte 20, start of its cell content
        header = bytearray(path.read_bytes())
        header[20] = reserved
        header[105:107] = struct.pack(">H", (page_size - reserved) % 65536)
        path.write_bytes(header)
    with sqlite3.connect(path) as db:
        for statement in statements:
            if isinstance(statement, tuple):
                db.executemany(*statement)
            else:
                db.execute(statement)
    db.close()
    return path


def kinds(columns):
    return {c.name: KINDS.get(c.declared_type.split("(")[0].upper(), "bytes") for c in columns}


def read(file, table, columns=None, piece=None):
    batches = list(file.batches(table, columns or kinds(file.tables[table]), piece))
    for batch in batches:
        batch.validate(full=True)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def converted(value, kind):
    """What a value read by SELECT should become, written down a second time; and is it a misfit."""
    match kind, value:
        case _, None:
            return None, False
        case "int", int():
            return value, False
        case "int", float() if value.is_integer() and -(2**63) <= int(value) < 2**63:
            return int(value), False
        case "float", int() | float():
            return float(value), False
        case "text", bytes():
            return value.decode("utf-8", "replace"), False
        case "bytes", bytes():
            return value, False
    return None, True


def selected(path, table, columns):
    """The rows of a plain SELECT, converted; and the misfits.  Numbers as text are SQLite's."""
    db = sqlite3.connect(path)
    db.text_factory = bytes
    terms = [
        f'iif(typeof("{c}") IN (\'integer\', \'real\'), cast("{c}" AS TEXT), "{c}")'
        if kind == "text"
        else f'"{c}"'
        for c, kind in columns.items()
    ]
    found = db.execute(f'SELECT {", ".join(terms)} FROM "{table}" ORDER BY rowid').fetchall()
    db.close()
    rows, misfits = [], {}
    for row in found:
        pairs = [converted(v, kind) for v, kind in zip(row, columns.values(), strict=True)]
        rows.append(tuple(value for value, _ in pairs))
        for column, (_, misfit) in zip(columns, pairs, strict=True):
            if misfit:
                misfits[table, column] = misfits.get((table, column), 0) + 1
    return rows, misfits


def check(path, table="t", columns=None, fallback=None):
    """Both paths give what SELECT gives; `fallback` is a part of the expected reason."""
    with SqliteFile(path) as fast, SqliteFile(path, driver_only=True) as slow:
        columns = columns or kinds(fast.tables[table])
        rows, misfits = selected(path, table, columns)
        assert repr(read(fast, table, columns)) == repr(rows)  # repr tells -0.0 from 0
        assert repr(read(slow, table, columns)) == repr(rows)
        assert fast.misfits == slow.misfits == misfits
        assert slow.fallbacks == {table: "driver_only"}
        if fallback is None:
            assert fast.fallbacks == {}
        else:
            assert fallback in fast.fallbacks[table]
        return rows


# ---------------------------------------------------------------- ordinary databases, any values

edges = [s * (1 << b) + d for b in (0, 7, 15, 23, 31, 47, 63) for s in (1, -1) for d in (-1, 0, 1)]
integers = st.one_of(
    st.none(),
    st.sampled_from([n for n in edges if -(2**63) <= n < 2**63]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3, 300),
)
floats = st.one_of(
    st.none(),
    st.sampled_from(
        [0.0, -0.0, 1.0, 7.0, -3e9, 2.0**53, 1e300, float("inf"), float("nan"), 5e-324]
    ),
    st.floats(),
    st.integers(-(2**63), 2**63 - 1),
)
blobs = st.one_of(
    st.none(),
    st.binary(max_size=20),
    st.sampled_from(
        [b"", b"\0", b"a\0b", b"\xff\xfe", "é".encode() * 40, b"\xc3(", b"\xed\xa0\x80"]
    ),
    st.builds(lambda unit, n: unit * n, st.sampled_from([b"x", b"\xe2\x82"]), st.integers(0, 9000)),
)
table_rows = st.lists(st.tuples(integers, integers, floats, blobs, blobs, integers), max_size=60)
INSERT = "INSERT INTO t (i, j, f, s, b, k) VALUES (?, ?, ?, CAST(? AS TEXT), ?, ?)"
ordinary = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@ordinary
@given(
    batch_bytes=st.sampled_from([1, 4096, 1 << 20]),
    overflow_bytes=st.sampled_from([1000, 1 << 20]),
    rows=table_rows,
    repeat=st.sampled_from([1, 1, 7]),
    page_size=st.sampled_from([512, 1024, 4096, 65536]),
    reserved=st.sampled_from([0, 0, 12, 32]),
    alias=st.booleans(),
    changes=st.lists(st.tuples(st.booleans(), st.integers(1, 60), blobs), max_size=8),
    added=st.booleans(),
    vacuum=st.booleans(),
    wanted=st.sets(st.sampled_from("ijfsbk"), min_size=1),
)
def test_any_ordinary_table(
    tmp_path, rows, repeat, page_size, reserved, alias, changes, added, vacuum, wanted, **sizes
):
    columns = "i INTEGER, j INTEGER, f REAL, s TEXT, b BLOB, k INTEGER"
    statements = [
        f"CREATE TABLE t ({'id INTEGER PRIMARY KEY, ' * alias}{columns})",
        "CREATE TABLE other (x)",
        (INSERT, rows * repeat),
    ]
    for is_update, rowid, blob in changes:
        if is_update:
            row = [(blob, blob, rowid)]
            statements.append(("UPDATE t SET s = CAST(? AS TEXT), b = ? WHERE rowid = ?", row))
        else:
            statements.append(("DELETE FROM t WHERE rowid = ?", [(rowid,)]))
    if added:
        statements += ["ALTER TABLE t ADD COLUMN extra TEXT", (INSERT, rows[:3])]
    path = make(tmp_path / "any.sqlite", *statements, page_size=page_size, reserved=reserved)
    if vacuum:
        db = sqlite3.connect(path)
        db.execute("VACUUM")
        db.close()
    with pytest.MonkeyPatch.context() as patch, SqliteFile(path) as file:
        for name, value in sizes.items():
            patch.setattr(sqlite_pages, f"_{name.upper()}", value)
        every = kinds(file.tables["t"])
        assert file.page_size == page_size
        check(path)
        check(path, columns={c: kind for c, kind in reversed(every.items()) if c in wanted})


NUMBERS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) INSERT INTO t "
)


@pytest.fixture
def many(tmp_path, monkeypatch):
    """Many leaf pages and batches; rowids 3, 6, 9, ... 180000."""
    monkeypatch.setattr(sqlite_pages, "_BATCH_BYTES", 100_000)
    return make(
        tmp_path / "many.sqlite",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s TEXT)",
        NUMBERS.format(60000) + "SELECT i * 3, i * i * 1000 - 5, 'text ' || i FROM n",
        page_size=1024,
    )


def test_many_pages(many):
    db = sqlite3.connect(many)
    db.execute("CREATE INDEX covers ON t (s, a)")  # by which SELECT s, a would be ordered
    db.close()
    assert len(check(many)) == 60000
    check(many, columns={"s": "text", "a": "float", "id": "float"})
    with SqliteFile(many) as file:
        assert 50000 < file.row_estimate("t") < 70000
        sizes = [batch.nbytes for batch in file.batches("t", {"a": "int"})]
        assert len(sizes) > 1
    with SqliteFile(many, driver_only=True) as file:
        assert file.row_estimate("t") == 179998  # as if there were no gaps


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100_000])
def test_slices_are_the_table(many, count):
    with SqliteFile(many) as file, SqliteFile(many, driver_only=True) as slow:
        whole = read(slow, "t")
        pieces = file.slices("t", count)
        assert len(pieces) <= count
        with ThreadPoolExecutor(3) as threads:
            parts = list(threads.map(lambda piece: read(file, "t", None, piece), pieces))
        assert list(itertools.chain(*parts)) == whole
        if count == 7:  # the driver agrees on where a slice begins and ends
            assert [read(slow, "t", None, piece) for piece in pieces] == parts
        assert slow.slices("t", count) == [sqlite_pages.Slice(0, 0, None, None)]


def test_empty_table_and_missing_names(tmp_path):
    path = make(tmp_path / "e.sqlite", "CREATE TABLE t (a INTEGER)", "CREATE VIEW v AS SELECT 1")
    assert check(path) == []
    with SqliteFile(path) as file:
        assert list(file.tables) == ["t"] and file.row_estimate("t") == 0
        assert [read(file, "t", None, piece) for piece in file.slices("t", 4)] == [[]]
        with pytest.raises(KeyError):
            file.batches("t", {"b": "int"})
        with pytest.raises(KeyError):
            file.batches("v", {"a": "int"})


@pytest.mark.parametrize(
    "key",
    [
        "id INTEGER PRIMARY KEY",
        "id integer, PRIMARY KEY (id DESC)",
        "id INTEGER PRIMARY KEY DESC",  # no alias, by an old mistake that SQLite keeps
        "id INT PRIMARY KEY",
        "id INTEGER, x INTEGER, PRIMARY KEY (id, x)",
    ],
)
def test_rowid_alias_or_not(tmp_path, key):
    rows = [(40,), (-(2**63),), (2**63 - 1,), (-3,), (500,)]
    path = make(
        tmp_path / "k.sqlite",
        f"CREATE TABLE t ({key})",
        ("INSERT INTO t (id) VALUES (?)", rows),
    )
    check(path, columns={"id": "int"})


def test_wide_table_with_long_serial_types(tmp_path):
    columns = [f"c{i} {'TEXT' if i % 3 else 'INTEGER'}" for i in range(300)]
    rows = [[(i * 7 + j) % 300 * "y" if j % 3 else j * i for j in range(300)] for i in range(40)]
    path = make(
        tmp_path / "w.sqlite",
        f"CREATE TABLE t ({', '.join(columns)})",  # so many that a header's size takes two bytes
        (f"INSERT INTO t VALUES ({', '.join('?' * 300)})", rows),
    )
    check(path)
    check(path, columns={"c3": "int", "c1": "text"})


def test_overflow_beyond_one_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_pages, "_OVERFLOW_BYTES", 100_000)
    rows = [(i, bytes([i]) * 30_000, i) for i in range(50)]
    path = make(
        tmp_path / "o.sqlite",
        "CREATE TABLE t (i INTEGER, b BLOB, k INTEGER)",
        ("INSERT INTO t VALUES (?, ?, ?)", rows),
    )
    assert check(path) == rows
    with SqliteFile(path) as file:
        assert max(batch.nbytes for batch in file.batches("t", {"b": "bytes"})) < 200_000
        monkeypatch.setattr(file._pages, "overflow", None)  # not needed for what precedes the blob
        assert read(file, "t", {"i": "int"}) == [(i,) for i in range(50)]


@pytest.mark.parametrize("others", [0, 200])
def test_table_whose_root_is_page_1(tmp_path, others):
    """Only the schema table has its root there; with many tables it is an interior page."""
    path = make(
        tmp_path / "1.sqlite",
        "CREATE TABLE t (type TEXT, name TEXT, tbl_name TEXT, rootpage INTEGER, sql TEXT)",
        *(f"CREATE TABLE t{i} (x)" for i in range(others)),
    )
    with SqliteFile(path) as file:
        file._tables["t"] = dataclasses.replace(file._tables["t"], root=1)
        columns = kinds(file.tables["t"])
        assert read(file, "t") == selected(path, "sqlite_master", columns)[0]
        assert file.fallbacks == {}


def test_odd_path_and_odd_names(tmp_path):
    folder = tmp_path / "a b%20?#'"
    folder.mkdir()
    path = make(
        folder / "ü?mode=rw#.sqlite",
        'CREATE TABLE "a ""b"" [x]" ("sel""ect" INTEGER, "rowid" TEXT, "é" REAL)',
        """INSERT INTO "a ""b"" [x]" VALUES (1, 'r', 2.5)""",
    )
    link = tmp_path / "link.sqlite"
    link.symlink_to(path)
    for place in (path, link):
        with SqliteFile(place) as fast, SqliteFile(place, driver_only=True) as slow:
            (name,) = fast.tables
            assert read(fast, name) == read(slow, name) == [(1, "r", 2.5)]
            assert fast.fallbacks == {}


# ------------------------------------------------------------------------- what the driver reads

TEN = ("INSERT INTO t (a) VALUES (?)", [(i,) for i in range(10)])


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (["CREATE TABLE t (a INTEGER, rowid, oid, _rowid_)", TEN], "hide the rowid"),
        (["CREATE TABLE t (a INTEGER, g AS (a * 2), s TEXT)", TEN], "generated"),
        (["CREATE TABLE t (a INTEGER, g INTEGER AS (a * 2) STORED)", TEN], "generated"),
        (["PRAGMA encoding = 'UTF-16'", "CREATE TABLE t (a TEXT)", TEN], "not UTF-8"),
        (["CREATE TABLE t (a INTEGER)", TEN, "ALTER TABLE t ADD b TEXT DEFAULT 'x'"], "default"),
        (["CREATE TABLE t (a INTEGER)", TEN, "INSERT INTO t VALUES ('word')"], "no number"),
        (["CREATE TABLE t (a INTEGER)", TEN, "INSERT INTO t VALUES (2.5)"], "REAL"),
        (["CREATE TABLE t (a INTEGER)", TEN, "INSERT INTO t VALUES (1e300)"], "REAL"),
        (["CREATE TABLE t (a REAL)", TEN, "INSERT INTO t VALUES ('x'), (x'00')"], "no number"),
        (["CREATE TABLE t (a BLOB)", TEN], "number in a column read as bytes"),
    ],
)
def test_reasons_to_fall_back(tmp_path, statements, why):
    check(make(tmp_path / "f.sqlite", *statements), fallback=why)


@pytest.mark.parametrize(
    ("declared", "kind", "fallback"),
    [
        ("REAL", "int", "REAL"),
        ("REAL", "text", "number in a column"),
        ("NUMERIC", "text", "number in a column"),
        ("NUMERIC", "float", None),
        ("", "float", None),
        ("INTEGER PRIMARY KEY", "text", "rowid read as text"),
        ("INTEGER PRIMARY KEY", "float", None),
        ("INTEGER PRIMARY KEY", "bytes", "rowid read as bytes"),
    ],
)
def test_kind_other_than_declared(tmp_path, declared, kind, fallback):
    values = [1, 0, -7, 2**53 + 1, 2**63 - 1]
    if "KEY" not in declared:
        values += [0.5, -2.25e10, -0.0, None]
    rows = [(v,) for v in values]
    path = make(
        tmp_path / "k.sqlite",
        f"CREATE TABLE t (a {declared})",
        ("INSERT INTO t VALUES (?)", rows),
    )
    check(path, columns={"a": kind}, fallback=fallback)


def test_without_rowid(tmp_path):
    path = make(
        tmp_path / "w.sqlite",
        "CREATE TABLE t (a INTEGER, b TEXT PRIMARY KEY) WITHOUT ROWID",
        "INSERT INTO t VALUES (1, 'z'), (2, 'a'), (3, NULL IS NULL)",
    )
    with SqliteFile(path) as file:
        assert read(file, "t") == [(3, "1"), (2, "a"), (1, "z")]
        assert file.fallbacks == {"t": "WITHOUT ROWID"}
        assert file.row_estimate("t") > 0 and len(file.slices("t", 3)) == 1


def test_odd_values_in_the_middle(many):
    db = sqlite3.connect(many)
    with db:
        db.execute("UPDATE t SET a = 'odd' WHERE id = 90000")
        db.execute("UPDATE t SET a = 0.5 WHERE id IN (3, 120000, 180000)")
    db.close()
    check(many, fallback="column read as int")
    with SqliteFile(many) as file, SqliteFile(many, driver_only=True) as slow:
        pieces = file.slices("t", 5)
        parts = [read(file, "t", None, piece) for piece in pieces]
        assert list(itertools.chain(*parts)) == read(slow, "t")
        assert file.misfits == slow.misfits == {("t", "a"): 4}


def damage_leaf(path, rowid):
    """Give the cell of a row in the middle a rowid that is out of order."""
    content = bytearray(path.read_bytes())
    # 1024-byte pages: payload size (1 byte), rowid (3-byte varint)
    varint = bytes([rowid >> 14 | 128, rowid >> 7 & 127 | 128, rowid & 127])
    at = content.index(varint + bytes([4, 0]))
    content[at] |= 64
    path.write_bytes(content)


def test_rowids_out_of_order(many):
    damage_leaf(many, 90000)
    with SqliteFile(many) as file, SqliteFile(many, driver_only=True) as slow:
        columns = {"s": "text", "a": "int"}
        assert read(file, "t", columns) == read(slow, "t", columns)
        assert file.fallbacks == {"t": "rowids out of order"}
        with pytest.raises(DamagedDatabase, match="out of order"):
            for piece in file.slices("t", 3):
                read(file, "t", columns, piece)


# ------------------------------------------------------------------------------------- journals


def snapshot(folder):
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_live_journal_is_replayed_on_a_copy(tmp_path, monkeypatch, mode):
    source, folder, temporary = tmp_path / "s.sqlite", tmp_path / "in put", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    make(source, "CREATE TABLE t (a INTEGER, s TEXT)", TEN)
    db = sqlite3.connect(source, isolation_level=None)
    db.execute(f"PRAGMA journal_mode = {mode}")
    db.execute("PRAGMA cache_size = 1")  # so that an open transaction reaches the file
    db.execute("BEGIN")
    db.execute(NUMBERS.format(5000) + "SELECT i, 'new ' || i FROM n")
    if mode == "wal":
        db.execute("COMMIT")
    suffix = "-wal" if mode == "wal" else "-journal"
    for end in ("", suffix):  # as a crash would leave them
        (folder / f"x.sqlite{end}").write_bytes(Path(f"{source}{end}").read_bytes())
    db.close()
    before = snapshot(folder)
    with SqliteFile(folder / "x.sqlite") as file:
        rows = read(file, "t")
        assert rows[:10] == [(i, None) for i in range(10)]
        assert len(rows) == (5010 if mode == "wal" else 10)
        assert file.fallbacks == {"t": f"live {suffix} file"}
        assert len(list(temporary.iterdir())) == 1
    assert list(temporary.iterdir()) == []
    assert snapshot(folder) == before


def test_wal_mode_without_a_live_wal(many):
    db = sqlite3.connect(many)
    db.execute("PRAGMA journal_mode = wal")
    db.execute("DELETE FROM t WHERE id < 100")
    db.commit()
    db.close()
    Path(f"{many}-wal").touch()
    with SqliteFile(many) as file:
        assert read(file, "t", {"id": "int"})[:2] == [(102,), (105,)]
        assert file.fallbacks == {}


def test_input_is_never_written(many):
    os.chmod(many, 0o444)
    before = snapshot(many.parent)
    check(many)
    assert snapshot(many.parent) == before


# -------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (bytes(8192), "zeros"),
        (b"version https://git-lfs.github.com/spec/v1\n" * 20, "not a SQLite"),
        (b"SQLite format 3\0", "not a SQLite"),
        (b"SQLite format 3\0" + b"\x7f" * 5000, "not a database"),
    ],
)
def test_no_database(tmp_path, content, why):
    path = tmp_path / "n.sqlite"
    path.write_bytes(content)
    with pytest.raises(DamagedDatabase, match=why):
        SqliteFile(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        SqliteFile(tmp_path / "none.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("whole_pages", [True, False])
@pytest.mark.parametrize("stale_count", [True, False])
def test_truncated(many, keep, whole_pages, stale_count):
    content = bytearray(many.read_bytes())
    if stale_count:  # then the driver notices only when it meets a missing page
        content[92] ^= 1
    size = int(len(content) * keep)
    many.write_bytes(content[: size // 1024 * 1024 if whole_pages else size // 1024 * 1024 + 500])
    with pytest.raises(DamagedDatabase), SqliteFile(many) as file:
        read(file, "t")


def attempt(path, **options):
    """What can be read of each table, or None; and the file, for its fallbacks and misfits."""
    with SqliteFile(path, **options) as file:
        found = dict.fromkeys(file.tables)
        for table in file.tables:
            with contextlib.suppress(DamagedDatabase):
                found[table] = repr(read(file, table))
        return found, file


@pytest.mark.parametrize("seed", range(300))
def test_flipped_bytes(tmp_path, monkeypatch, seed):
    """Whatever the driver can read of a damaged file, the page decoder reads the same."""
    monkeypatch.setattr(sqlite_pages, "_BATCH_BYTES", 2048)  # so that few pages are many batches
    monkeypatch.setattr(sqlite_pages, "_OVERFLOW_BYTES", 2048)
    rng = random.Random(seed)
    page_size = rng.choice([512, 1024])
    path = make(
        tmp_path / "f.sqlite",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, f REAL, s TEXT, b BLOB)",
        "CREATE TABLE u (i INTEGER, j INTEGER, k INTEGER)",
        NUMBERS.format(40)
        + "SELECT i, i * i * i * i, i / 2.0, 'row ' || i, zeroblob(i * 20) FROM n",
        NUMBERS.replace(" t ", " u ").format(200) + "SELECT i, i * 1000, NULL FROM n",
        page_size=page_size,
    )
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 2, 4])):
        page = rng.randrange(1 if rng.random() < 0.9 else 0, len(content) // page_size) * page_size
        near = rng.choice([12, 40, page_size])  # page headers are where it hurts
        at = page + rng.randrange(near)
        content[at] = rng.choice([content[at] ^ 1 << rng.randrange(8), rng.randrange(256), 255])
    path.write_bytes(content)
    try:
        fast, fast_file = attempt(path)
        slow, slow_file = attempt(path, driver_only=True)
    except DamagedDatabase:
        return  # already the schema
    for table in slow:
        if "its page" in fast_file.fallbacks.get(table, ""):
            continue  # here SQLite reads on in its own memory, and not the same twice
        if slow[table] is not None:
            assert fast[table] == slow[table]
            for place in ((table, column.name) for column in slow_file.tables[table]):
                assert fast_file.misfits.get(place) == slow_file.misfits.get(place)


@pytest.mark.parametrize("page_type", ["interior", "overflow"])
def test_circle_of_pages(tmp_path, page_type):
    path = make(
        tmp_path / "c.sqlite",
        "CREATE TABLE t (i INTEGER, b BLOB, k INTEGER)",
        ("INSERT INTO t VALUES (?, ?, ?)", [(i, bytes(20_000), i) for i in range(30)]),
        page_size=1024,
    )
    content = bytearray(path.read_bytes())
    with SqliteFile(path) as file:
        root = file._tables["t"].root
    if page_type == "interior":
        at = (root - 1) * 1024
        content[at + 8 : at + 12] = struct.pack(">I", root)  # its rightmost child is itself
    else:
        at = content.index(bytes(1000), root * 1024 + 2048) // 1024 * 1024
        content[at : at + 4] = struct.pack(">I", at // 1024 + 1)
    path.write_bytes(content)
    fast, _ = attempt(path)
    slow, _ = attempt(path, driver_only=True)
    assert fast == slow


# --------------------------------------------------------------------------------- real exports


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL, reason="no real exports beside the repository")
@pytest.mark.parametrize("packed", REAL, ids=lambda p: p.name)
def test_real_exports(tmp_path, packed):
    path = tmp_path / "real.sqlite"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    with SqliteFile(path) as fast, SqliteFile(path, driver_only=True) as slow:
        assert fast.tables
        for table in fast.tables:
            assert read(fast, table) == read(slow, table)
        assert fast.fallbacks == {} and fast.misfits == slow.misfits == {}
