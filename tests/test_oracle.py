"""Published exports of the real tool: what ``nsys stats`` and plain SQLite say of them."""

import csv
import lzma
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.ingest import ingest
from pipeline.store import Store

TRACES = Path(__file__).parents[2] / "shared" / "traces"
FILES = sorted((TRACES / "nsys").glob("*.sqlite.xz"))
BROKEN = sorted((TRACES / "nsys_broken").glob("*"))
DDP = "nccl_ddp_a100_rank0of4__cap2022.4.2_exp2023.4.4"

pytestmark = [
    pytest.mark.real_traces,
    pytest.mark.skipif(not FILES, reason="the published exports are not there"),
]


def run_of(path: Path) -> str:
    return path.name.removesuffix(".sqlite.xz")


each_file = pytest.mark.parametrize("path", FILES, ids=run_of)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """Every file as a run of its own."""
    store = Store.create(tmp_path_factory.mktemp("real") / "store")
    for path in FILES:
        (outcome,) = ingest([path], store, run=run_of(path), jobs=1).outcomes
        assert (outcome.kind, outcome.fault) == ("stored", None)
    return store.connect()


def rows(connection: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    return connection.execute(sql, list(values)).fetchall()


def number(connection: duckdb.DuckDBPyConnection, sql: str, run: str) -> int:
    ((found,),) = rows(connection, sql, run)
    return int(found)


# -- plain SQLite --------------------------------------------------------------------------


@pytest.fixture
def plain(path: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    file = tmp_path / "plain.sqlite"
    file.write_bytes(lzma.decompress(path.read_bytes()))
    connection = sqlite3.connect(file)
    yield connection
    connection.close()


def plain_number(connection: sqlite3.Connection, table: str, what: str, where: str = "") -> int:
    known = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    if not connection.execute(known, [table]).fetchone()[0]:
        return 0
    (found,) = connection.execute(f"SELECT {what} FROM {table} {where}").fetchone()
    return int(found or 0)


@each_file
@pytest.mark.parametrize(
    ("view", "count", "table"),
    [
        ("top_kernel", "kernel_count", "CUPTI_ACTIVITY_KIND_KERNEL"),
        ("memory_copy_summary", "copy_count", "CUPTI_ACTIVITY_KIND_MEMCPY"),
        ("memory_set_summary", "set_count", "CUPTI_ACTIVITY_KIND_MEMSET"),
    ],
)
def test_nothing_that_a_gpu_did_is_lost(
    real: duckdb.DuckDBPyConnection,
    plain: sqlite3.Connection,
    path: Path,
    view: str,
    count: str,
    table: str,
) -> None:
    for found, of in ((count, "count(*)"), ("total_ns", 'sum("end" - start)')):
        sql = f"SELECT coalesce(sum({found}), 0) FROM {view} WHERE run_id = ?"
        assert number(real, sql, run_of(path)) == plain_number(plain, table, of)


@each_file
def test_calls_and_ranges_are_counted(
    real: duckdb.DuckDBPyConnection, plain: sqlite3.Connection, path: Path
) -> None:
    table = "CUPTI_ACTIVITY_KIND_RUNTIME"
    columns = [row[1] for row in plain.execute(f"PRAGMA table_info({table})")]
    # Rows of class 67 repeat a call to carry its backtrace.
    where = "WHERE eventClass <> 67" if "eventClass" in columns else ""
    sql = "SELECT coalesce(sum(call_count), 0) FROM api_summary WHERE run_id = ?"
    assert number(real, sql, run_of(path)) == plain_number(plain, table, "count(*)", where)
    # Ranges that were pushed and popped or started and ended, in a library or (70, 71) by NVTXT.
    closed = 'WHERE eventType IN (59, 60, 70, 71) AND "end" IS NOT NULL'
    sql = "SELECT count(*) FROM projected_range WHERE run_id = ?"
    assert number(real, sql, run_of(path)) == plain_number(plain, "NVTX_EVENTS", "count(*)", closed)


@each_file
def test_the_split_sums_to_the_span(real: duckdb.DuckDBPyConnection, path: Path) -> None:
    found = rows(
        real,
        """
        SELECT
            span_ns - compute_ns - exposed_communication_ns - exposed_memory_ns - idle_ns,
            busy_ns + idle_ns - span_ns,
            overlap_ns + exposed_communication_ns - communication_ns,
            least(0, kernel_sum_ns - kernel_busy_ns, idle_ns, overlap_ns, exposed_memory_ns)
        FROM nccl_time_share WHERE run_id = ?
        """,
        run_of(path),
    )
    assert all(row == (0, 0, 0, 0) for row in found)
    devices = (
        "SELECT count(DISTINCT device_key) FROM activity JOIN traced_device USING (device_key)"
    )
    assert len(found) == number(real, f"{devices} WHERE traced_device.run_id = ?", run_of(path))


# -- nsys stats ----------------------------------------------------------------------------


def oracle(report: str) -> list[dict[str, str]]:
    (path,) = (TRACES / "nsys_oracles").glob(f"*_{report}.csv*")
    data = path.read_bytes()
    text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_check_values(real: duckdb.DuckDBPyConnection) -> None:
    ((*found,),) = rows(
        real,
        """
        SELECT nccl_count, nccl_sum_ns, communication_ns, compute_ns, kernel_busy_ns, overlap_ns,
            exposed_communication_ns
        FROM nccl_time_share WHERE run_id = ?
        """,
        DDP,
    )
    assert found == [472, 292789300, 292789300, 1661359183, 1683158246, 270990237, 21799063]
    sql = "SELECT min_ns, max_ns, total_ns FROM collective_summary WHERE run_id = ?"
    assert rows(real, sql, DDP) == [(92896, 1302590, 292789300)]
    assert number(real, "SELECT max(end_ns) - min(start_ns) FROM kernel WHERE run_id = ?", DDP) == (
        1828647601
    )


def test_both_exports_of_one_capture_say_the_same(real: duckdb.DuckDBPyConnection) -> None:
    columns = "* EXCLUDE (run_id, source_id, host)"
    sql = f"SELECT {columns} FROM nccl_time_share WHERE run_id = ?"
    old = DDP.replace("exp2023.4.4", "exp2022.4.2")
    assert rows(real, sql, DDP) == rows(real, sql, old)


def test_kernels(real: duckdb.DuckDBPyConnection) -> None:
    sql = """
        SELECT name, kernel_count, total_ns, min_ns, max_ns, median_ns FROM top_kernel
        WHERE run_id = ?
    """
    found = {name: tuple(numbers) for name, *numbers in rows(real, sql, DDP)}
    assert found == {
        row["Name"]: (
            int(row["Instances"]),
            int(row["Total Time (ns)"]),
            int(row["Min (ns)"]),
            int(row["Max (ns)"]),
            float(row["Med (ns)"]),
        )
        for row in oracle("cuda_gpu_kern_sum")
    }


def test_calls(real: duckdb.DuckDBPyConnection) -> None:
    sql = """
        SELECT name, call_count, total_ns, min_ns, max_ns, median_ns FROM api_summary
        WHERE run_id = ?
    """
    found = {name: tuple(numbers) for name, *numbers in rows(real, sql, DDP)}
    assert found == {
        # nsys cuts a version of four digits off a name, but not one of five.
        row["Name"]: (
            int(row["Num Calls"]),
            int(row["Total Time (ns)"]),
            int(row["Min (ns)"]),
            int(row["Max (ns)"]),
            float(row["Med (ns)"]),
        )
        for row in oracle("cuda_api_sum")
    }


OPERATION = {
    "HtoD": "[CUDA memcpy Host-to-Device]",
    "DtoH": "[CUDA memcpy Device-to-Host]",
    "DtoD": "[CUDA memcpy Device-to-Device]",
    None: "[CUDA memset]",
}


def test_memory(real: duckdb.DuckDBPyConnection) -> None:
    sql = """
        SELECT detail, count(*), sum(end_ns - start_ns)::BIGINT, min(end_ns - start_ns),
            max(end_ns - start_ns)
        FROM activity WHERE run_id = ? AND kind IN ('memory_copy', 'memory_set') GROUP BY detail
    """
    found = {OPERATION[kind]: tuple(numbers) for kind, *numbers in rows(real, sql, DDP)}
    assert found == {
        row["Operation"]: (
            int(row["Count"]),
            int(row["Total Time (ns)"]),
            int(row["Min (ns)"]),
            int(row["Max (ns)"]),
        )
        for row in oracle("cuda_gpu_mem_time_sum")
    }


def test_bytes(real: duckdb.DuckDBPyConnection) -> None:
    sql = """
        SELECT kind, sum(bytes)::BIGINT FROM (
            SELECT kind, bytes FROM memory_copy_summary WHERE run_id = $1
            UNION ALL SELECT NULL, bytes FROM memory_set_summary WHERE run_id = $1
        ) GROUP BY kind
    """
    found = {OPERATION[kind]: f"{bytes_ / 1e6:.3f}" for kind, bytes_ in rows(real, sql, DDP)}
    assert found == {row["Operation"]: row["Total (MB)"] for row in oracle("cuda_gpu_mem_size_sum")}


# nsys names the domain before the range.
NAMED = "concat(domain || ':', name)"


def test_ranges(real: duckdb.DuckDBPyConnection) -> None:
    sql = f"""
        SELECT {NAMED}, range_count, total_ns, min_ns, max_ns, median_ns FROM nvtx_summary
        WHERE run_id = ? AND kind = 'push_pop' AND range_count > 0
    """
    found = {name: tuple(numbers) for name, *numbers in rows(real, sql, DDP)}
    assert found == {
        row["Range"]: (
            int(row["Instances"]),
            int(row["Total Time (ns)"]),
            int(row["Min (ns)"]),
            int(row["Max (ns)"]),
            float(row["Med (ns)"]),
        )
        for row in oracle("nvtx_sum")
        if row["Style"] == "PushPop"
    }


def test_projected_ranges(real: duckdb.DuckDBPyConnection) -> None:
    sql = f"""
        SELECT {NAMED}, projected_count, projected_ns, work_count FROM nvtx_summary
        WHERE run_id = ? AND kind = 'push_pop' AND projected_count > 0
    """
    found = {name: tuple(numbers) for name, *numbers in rows(real, sql, DDP)}
    assert found == {
        row["Range"]: (
            int(row["Range Instances"]),
            int(row["Total Proj Time (ns)"]),
            int(row["Total GPU Ops"]),
        )
        for row in oracle("nvtx_gpu_proj_sum")
    }


# -- broken files --------------------------------------------------------------------------


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.name)
def test_a_broken_file_is_refused_in_one_line(path: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = ["ingest", str(path), "--store", str(store), "--jobs", "1"]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (2, "")
    fault, summary = result.stderr.splitlines()
    assert fault.startswith(f"tracelake: {path}: ")
    assert "; " in fault  # the way out
    assert summary.startswith("1 refused; ")
