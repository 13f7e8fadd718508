"""The store: what becomes visible when, who can read it, and what it refuses."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from pipeline import catalog, parquet
from pipeline import store as store_module
from pipeline.archive import STORE_MARKER
from pipeline.errors import UserError
from pipeline.store import Staging, Store, source_id

Row = dict[str, Any]


def batch(table: str, *rows: Row) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=catalog.arrow_schemas()[table])


def source(name: str, fingerprint: str | None, status: str = "complete", **more: Any) -> Row:
    row = {"path": name, "size_bytes": 1, "fingerprint": fingerprint, "status": status}
    return {**row, "stat_signature": "1:1:1", "row_count": 1, **more}


def stage(staging: Staging, name: str, content: str | None, status: str, **more: Any) -> None:
    staging.write("source_file", 0, [batch("source_file", source(name, content, status, **more))])
    if status != "refused":
        staging.write("api_name", 0, [batch("api_name", named(str(content)))])


def named(name: str) -> Row:
    return {"name_id": 1, "name": name, "versioned_name": name}


def put(
    store: Store, run: str, name: str, content: str | None, status: str = "complete", **more: Any
) -> tuple[str, str]:
    """Stores a file whose content is one word."""
    with store.staging() as staging:
        stage(staging, name, content, status, **more)
        return staging.commit(run, name)


def held(store: Store) -> list[tuple[Any, ...]]:
    """Run, file and content of everything visible, refusals included."""
    return (
        Store.open(store.root)
        .connect(asked=["source_file", "api_name"])
        .execute(
            "SELECT run_id, path, status, name FROM source_file"
            " LEFT JOIN api_name USING (run_id, source_id) ORDER BY ALL"
        )
        .fetchall()
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


# -- commit --------------------------------------------------------------------------------


def test_nothing_is_visible_before_the_commit(store: Store) -> None:
    with store.staging() as staging:
        stage(staging, "a", "one", "complete")
        assert held(store) == []
        staging.commit("r", "a")
        assert held(store) == [("r", "a", "complete", "one")]
    assert list((store.root / ".staging").glob("*/*")) == []


def test_outcomes(store: Store) -> None:
    assert put(store, "r", "a", "one") == ("stored", "")
    assert put(store, "r", "a", "one") == ("unchanged", "")
    assert put(store, "r", "b", "two") == ("stored", "")
    assert put(store, "r", "a", "three") == ("replaced", "")
    assert put(store, "r", "c", "two") == ("duplicate", "b")
    assert put(store, "other run", "c", "two") == ("stored", "")
    assert held(store) == [
        ("other run", "c", "complete", "two"),
        ("r", "a", "complete", "three"),
        ("r", "b", "complete", "two"),
    ]


def test_unchanged_content_under_new_times_is_remembered(store: Store) -> None:
    put(store, "r", "a", "one")
    put(store, "r", "a", "one", stat_signature="2:2:2")
    known = Store.open(store.root).known("r", "a")
    assert known and (known.path, known.stat_signature) == ("a", "2:2:2")
    assert Store.open(store.root).known("r", "b") is None
    assert held(store) == [("r", "a", "complete", "one")]


def test_a_refusal_never_replaces_what_is_stored(store: Store) -> None:
    put(store, "r", "a", "one")
    put(store, "r", "a", None, "refused")
    put(store, "r", "a", None, "refused")
    assert held(store) == [("r", "a", "complete", "one"), ("r", "a", "refused", None)]
    put(store, "r", "a", "two")
    assert held(store) == [("r", "a", "complete", "two")]


def test_a_file_that_is_whole_again_is_no_longer_refused(store: Store) -> None:
    put(store, "r", "a", "one")
    put(store, "r", "a", None, "refused")
    put(store, "r", "a", "one")
    assert held(store) == [("r", "a", "complete", "one")]


def test_a_file_changed_into_anothers_twin_keeps_no_old_rows(store: Store) -> None:
    put(store, "r", "a", "one")
    put(store, "r", "b", "two")
    put(store, "r", "a", "two")
    assert "one" not in [name for *_, name in held(store)]


FAILING = {
    "rename": "os.rename",
    "exchange": "pipeline.store._exchange",
    "sync": "pipeline.store._sync",
}


@pytest.mark.parametrize("step", FAILING)
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "replaced"])
def test_a_disk_error_leaves_the_old_state(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str, is_first: bool
) -> None:
    if not is_first:
        put(store, "r", "a", "one")
    before = held(store)
    if (step == "rename") != is_first and step != "sync":
        return  # that step is not part of this

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(FAILING[step], fail)
        with pytest.raises(OSError, match="No space"):
            put(store, "r", "a", "two")
    assert held(store) == before
    assert put(store, "r", "a", "two")[0] == ("stored" if is_first else "replaced")


def test_a_file_system_that_cannot_exchange_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoExchange:
        renameat2 = None

    put(store, "r", "a", "one")
    with monkeypatch.context() as patch:
        patch.setattr(store_module.ctypes, "CDLL", lambda *_, **__: NoExchange)
        with pytest.raises(UserError, match="cannot replace a folder in one step"):
            put(store, "r", "a", "two")
    assert held(store) == [("r", "a", "complete", "one")]


def test_what_the_dead_left_is_cleared_and_the_living_keep_theirs(store: Store) -> None:
    code = (
        "import os, signal, sys; from pipeline.store import Store\n"
        "with Store.open(sys.argv[1]).staging(): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, store.root], check=False)
    with store.staging() as living:
        assert len(list((store.root / ".staging").glob("*/lock"))) == 2
        assert store.clear_abandoned() == 1
        assert living.work.is_dir()


def test_a_staging_folder_just_being_made_is_not_abandoned(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Store.open(store.root)
    flock = fcntl.flock

    def clear_first(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        other.clear_abandoned()  # another process starts at this very moment
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", clear_first)
    with store.staging() as staging:
        assert staging.work.is_dir()


def test_a_staging_folder_may_go_while_it_is_looked_at(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process ends its file at the very moment in which this one starts."""
    other = store.root / ".staging" / "other"
    other.mkdir(parents=True)
    opened = os.open

    def gone_first(path: Any, *more: Any) -> int:
        if Path(path).parent == other:
            other.rmdir()
        return opened(path, *more)

    monkeypatch.setattr(os, "open", gone_first)
    assert store.clear_abandoned() == 0


def test_the_commits_of_many_processes(store: Store) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); import test_store as t\n"
        "store = t.Store.open(sys.argv[1])\n"
        "for i in range(15):\n"
        "    t.put(store, 'r', f'own {sys.argv[3]}', f'{sys.argv[3]} {i}')\n"
        "    t.put(store, 'r', 'shared', f'shared {i}')\n"
    )
    here = str(Path(__file__).parent)
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", code, store.root, here, str(i)])
            )
            for i in range(3)
        ]
        while any(process.poll() is None for process in running):
            try:
                names = [path for _, path, *_ in held(store)]
            except (duckdb.IOException, UserError) as error:
                assert "No such file" in str(error)  # replaced meanwhile: a reader asks again
                continue
            assert len(names) == len(set(names))
    assert [process.returncode for process in running] == [0, 0, 0]
    assert held(store) == [
        *(("r", f"own {i}", "complete", f"{i} 14") for i in range(3)),
        ("r", "shared", "complete", "shared 14"),
    ]


# -- who can read it -------------------------------------------------------------------------


def glob(store: Store, table: str) -> str:
    return f"{store.root}/run_id=*/source_id=*/{table}-*.parquet"


def by_duckdb(store: Store, table: str) -> list[tuple[str, str]]:
    read = f"SELECT run_id, name FROM read_parquet('{glob(store, table)}') ORDER BY ALL"
    return duckdb.sql(read).fetchall()


def by_polars(store: Store, table: str) -> list[tuple[str, str]]:
    frame = polars.read_parquet(glob(store, table), hive_partitioning=True)
    return sorted(frame.select("run_id", "name").rows())


def by_pyarrow(store: Store, table: str) -> list[tuple[str, str]]:
    files = [str(file) for file in store.root.glob(f"run_id=*/*/{table}-*.parquet")]
    root = str(store.root)
    data = ds.dataset(files, partitioning=ds.partitioning(flavor="hive"), partition_base_dir=root)
    rows = data.to_table(columns=["run_id", "name"]).to_pylist()
    return sorted((row["run_id"], row["name"]) for row in rows)


@pytest.mark.parametrize("read", [by_duckdb, by_polars, by_pyarrow])
def test_others_read_the_hive_layout(store: Store, read: Any) -> None:
    put(store, "plain", "a", "one")
    put(store, "b's 100% =?*[x] ü\n", "a", "two")
    assert read(store, "api_name") == [("b's 100% =?*[x] ü\n", "two"), ("plain", "one")]


ODD_RUNS = ["007", "2024-01-01", "1e5", "true", "NULL", "a=b", "..", "x%20y", "'; --", "ü" * 40]


@pytest.mark.parametrize("run", ODD_RUNS)
def test_a_run_may_have_any_name(store: Store, run: str) -> None:
    put(store, run, "a", "one")
    assert held(store) == [(run, "a", "complete", "one")]
    assert store.runs() == [run]
    found = (
        store.connect(runs=[run], asked=["api_name"])
        .execute("SELECT run_id, source_id FROM api_name")
        .fetchall()
    )
    assert found == [(run, source_id("a"))]
    assert [p.name for p in store.root.parent.iterdir()] == ["store"]


def test_a_run_called_as_hive_calls_null(store: Store) -> None:
    put(store, "__HIVE_DEFAULT_PARTITION__", "a", "one")
    assert held(store) == [("__HIVE_DEFAULT_PARTITION__", "a", "complete", "one")]


@pytest.mark.parametrize("run", ["r" * 250, "あ" * 80])
def test_a_run_whose_name_makes_no_folder_is_told(store: Store, run: str) -> None:
    with pytest.raises(UserError, match="name too long"):
        put(store, run, "a", "one")
    assert held(store) == []


@pytest.mark.parametrize("name", ["it's", "[1]*?", "with space", "ü", "{a,b}", "a=b", "%41"])
def test_a_store_may_lie_anywhere(tmp_path: Path, name: str) -> None:
    store = Store.create(tmp_path / name)
    put(store, "r", "a", "one")
    assert held(store) == [("r", "a", "complete", "one")]


def test_only_chosen_runs(store: Store) -> None:
    put(store, "r", "a", "one")
    put(store, "s", "a", "two")
    chosen = (
        store.connect(runs=["s"], asked=["api_name"])
        .execute("SELECT name FROM api_name")
        .fetchall()
    )
    assert chosen == [("two",)]
    assert (
        store.connect(runs=["s"], asked=["kernel"]).execute("FROM kernel").fetchall() == []
    )  # has no file
    with pytest.raises(UserError, match="run t: not in the store"):
        store.connect(runs=["t"])


# Of formats that the samples do not have, and what is made of runs when they are compared.
NOT_IN_SAMPLES = (
    *("job_gpu_summary", "kernel_metric_summary"),
    *("run_condition", "run_metric", "run_step_part", "verdict"),
)


def test_of_the_baseline_that_a_chosen_run_names_only_benchmarks_stay(store: Store) -> None:
    device: Row = {"benchmark_id": 0, "rank": 0}
    for run, named in (("job", "baseline"), ("baseline", None), ("other", None)):
        with store.staging() as staging:
            row = source("a", run)
            staging.write("source_file", 0, [batch("source_file", row)])
            table = "collective_benchmark_device"
            staging.write(table, 0, [batch(table, device)])
            if named:
                told = {"key": "baseline.run", "value_text": named}
                staging.write("run_description", 0, [batch("run_description", told)])
            staging.commit(run, "a")
    connection = store.connect(runs=["job"], asked=catalog.tables())
    seen = "SELECT run_id FROM collective_benchmark_device ORDER BY 1"
    assert connection.execute(seen).fetchall() == [("baseline",), ("job",)]
    assert connection.execute("SELECT run_id FROM source_file").fetchall() == [("job",)]


def test_what_the_samples_gave_obeys_every_rule_of_the_schemas(sample_store: Path) -> None:
    stored = Store.open(sample_store).connect(asked=catalog.tables())
    for table in catalog.tables().values():
        data = stored.sql(f"FROM {table.name}").to_arrow_table()
        strict = duckdb.connect()
        strict.execute(table.ddl)
        strict.execute(f"INSERT INTO {table.name} BY NAME FROM data")  # NOT NULL and CHECK
        counted = strict.execute(f"SELECT count(*) FROM {table.name}").fetchone()
        assert counted == (data.num_rows,)
        assert data.num_rows or table.name in NOT_IN_SAMPLES, table.name


# -- writing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {"name_id": pa.int64(), "name": pa.string()},
        {"name_id": pa.int32(), "name": pa.string(), "versioned_name": pa.string()},
        {"name": pa.string(), "name_id": pa.int64(), "versioned_name": pa.string()},
        {"name_id": pa.int64(), "name": pa.large_string(), "versioned_name": pa.string()},
    ],
    ids=["column missing", "narrower", "other order", "other text"],
)
def test_a_batch_of_another_type_is_a_type_error(store: Store, schema: dict[str, Any]) -> None:
    wrong = pa.schema(schema).empty_table().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=pa.schema(schema))
    ]
    with store.staging() as staging, pytest.raises(TypeError, match="a reader's batch is"):
        staging.write("api_name", 0, wrong)


def test_many_rows_are_written_in_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_ROWS_BUFFERED", 10)
    made = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal made
        for _ in range(7):
            made += 4
            yield batch("api_name", *[named(f"{made}")] * 4)
            yield batch("api_name")

    with store.staging() as staging:
        stage(staging, "a", "one", "complete")
        assert staging.write("api_name", 1, batches()) == 28
        assert staging.write("kernel", 0, []) == 0
        staging.commit("r", "a")
    assert len(held(store)) == 1 + 28
    assert not list(store.root.glob("*/*/kernel-*"))


# -- opening -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marker", "problem"),
    [
        (None, "no tracelake store here"),
        ('{"version": 3}', "store of layout 3"),
        ('{"version": "2"}', "store of layout 2"),
        ("{}", "not a store's marker"),
        ("[]", "not a store's marker"),
        ("junk", "not a store's marker"),
        (b"\xff", "not a store's marker"),
    ],
)
def test_what_is_no_store_is_not_opened(tmp_path: Path, marker: Any, problem: str) -> None:
    if marker is not None:
        (tmp_path / STORE_MARKER).write_bytes(
            marker if isinstance(marker, bytes) else marker.encode()
        )
    with pytest.raises(UserError, match=problem):
        Store.open(tmp_path)


@pytest.mark.parametrize("kind", ["a file", "under a file", "full"])
def test_a_store_is_not_made_over_other_things(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_text("precious")
    path = {"a file": tmp_path / "file", "under a file": tmp_path / "file/x", "full": tmp_path}
    with pytest.raises(UserError, match=r"name another with --store"):
        Store.create(path[kind])
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "precious"


def test_making_it_again_changes_nothing(store: Store) -> None:
    put(store, "r", "a", "one")
    assert held(Store.create(store.root)) == [("r", "a", "complete", "one")]
    assert held(Store.create(os.path.relpath(store.root))) == held(store)


def test_what_replaced_a_file_is_what_others_are_compared_with(store: Store) -> None:
    put(store, "r", "a", "one")
    put(store, "r", "b", "two")  # compared with a, which is remembered
    assert put(store, "r", "a", "three")[0] == "replaced"
    assert put(store, "r", "c", "three") == ("duplicate", "a")
    assert put(store, "r", "c", "one")[0] == "stored"


def test_staged_files_are_not_yet_parquet(store: Store) -> None:
    """Readers that search the whole store for *.parquet must not find them."""
    put(store, "r", "a", "one")
    with store.staging() as staging:
        staging.write("api_name", 0, [])
        row = [{"name_id": 1, "name": "x", "versioned_name": "x"}]
        schema = catalog.arrow_schemas()["api_name"]
        staging.write("api_name", 1, [pa.RecordBatch.from_pylist(row, schema=schema)])
        assert list((store.root / ".staging").rglob("*.parquet")) == []
        assert len(list((store.root / ".staging").rglob("*.parquet.part"))) == 1


# -- views asked together ------------------------------------------------------------------

GAP_VIEWS = ("kernel_gap_part", "kernel_gap_cause", "step_time", "launch_summary")


def test_what_views_asked_together_share_is_a_table(sample_store: Path) -> None:
    connection = Store.open(sample_store).connect(asked=GAP_VIEWS)
    sql = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
    views = {name for (name,) in connection.execute(sql).fetchall()}
    kept = catalog.used_repeatedly(GAP_VIEWS)
    assert kept and not kept & views
    assert set(GAP_VIEWS) - kept <= views
    # What they do not read is not there: to bind all of it takes longer than to ask them.
    assert "collective_benchmark" not in views and "wall" not in views


def test_asked_together_they_say_the_same(sample_store: Path) -> None:
    # Thresholds and runs hold for what is computed beforehand as well.
    settings: dict[str, Any] = {"thresholds": {"kernel_gap_ns": 50_000}, "runs": ["ddp_late_rank"]}
    alone = Store.open(sample_store).connect(**settings)
    together = Store.open(sample_store).connect(asked=GAP_VIEWS, **settings)
    for view in GAP_VIEWS:
        rows = together.execute(f"FROM {view}").fetchall()
        assert rows and rows == alone.execute(f"FROM {view}").fetchall()


def test_unknown_names_among_the_asked_do_not_matter(sample_store: Path) -> None:
    connection = Store.open(sample_store).connect(asked=["kernel", "no_such_view"])
    assert connection.execute("SELECT count(*) FROM kernel").fetchall() != [(0,)]
