"""Published exports of the real tool: what ``nsys stats`` and plain SQLite say of them."""

import csv
import lzma
import sqlite3
import statistics
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
def real_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Every file as a run of its own."""
    store = Store.create(tmp_path_factory.mktemp("real") / "store")
    for path in FILES:
        (outcome,) = ingest([path], store, run=run_of(path), jobs=1).outcomes
        assert (outcome.kind, outcome.fault) == ("stored", None)
    return store


@pytest.fixture(scope="module")
def real(real_store: Store) -> duckdb.DuckDBPyConnection:
    return real_store.connect()


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


# -- steps and causes of gaps --------------------------------------------------------------


@pytest.fixture(scope="module")
def split(real: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The views that the following tests ask, computed once."""
    for view in ("device_step", "gap_part"):
        real.execute(f"CREATE TEMP TABLE kept_{view} AS FROM {view}")
    return real


def test_the_parts_of_a_gap_follow_each_other(split: duckdb.DuckDBPyConnection) -> None:
    sql = """
        WITH part AS (
            SELECT
                *,
                start_ns = coalesce(lag(end_ns) OVER in_gap, gap_start_ns) AS follows,
                lead(start_ns) OVER in_gap IS NULL AS is_last
            FROM kept_gap_part
            WINDOW in_gap AS (PARTITION BY gpu_key, gap_start_ns ORDER BY start_ns)
        )
        SELECT count(*), bool_and(follows AND start_ns < end_ns),
            bool_and(end_ns = gap_end_ns) FILTER (is_last)
        FROM part
    """
    ((count, follows, reaches),) = rows(split, sql)
    assert count > 10_000
    assert (follows, reaches) == (True, True)
    sql = "SELECT gpu_key, start_ns, end_ns FROM device_gap ORDER BY ALL"
    same = "SELECT DISTINCT gpu_key, gap_start_ns, gap_end_ns FROM kept_gap_part ORDER BY ALL"
    assert rows(split, same) == rows(split, sql)


def test_the_causes_sum_to_the_idle_time(split: duckdb.DuckDBPyConnection) -> None:
    # Of each GPU, whichever processes share it.
    causes = """
        SELECT run_id, source_id, gpu_id, sum(total_ns)::BIGINT FROM kernel_gap_cause
        GROUP BY ALL ORDER BY ALL
    """
    idle = """
        SELECT run_id, source_id, gpu_id, sum(dur_ns)::BIGINT
        FROM idle_interval
        JOIN (SELECT DISTINCT run_id, source_id, gpu_id, gpu_key FROM traced_device)
            USING (gpu_key)
        GROUP BY ALL ORDER BY ALL
    """
    found = rows(split, causes)
    assert found == rows(split, idle)
    assert len(found) > 10


def test_work_without_a_launch_call_is_unknown(split: duckdb.DuckDBPyConnection) -> None:
    sql = """
        SELECT count(*) FROM device_gap AS g JOIN kept_gap_part AS p
            ON p.gpu_key = g.gpu_key AND p.gap_start_ns = g.start_ns
        JOIN traced_device AS d ON d.device_key = p.device_key
        ANTI JOIN api_call AS c ON c.run_id = d.run_id AND c.source_id = d.source_id
            AND c.process = d.process AND c.correlation_id = g.after.correlation_id
        WHERE p.cause <> 'unknown'
    """
    assert rows(split, sql) == [(0,)]


def test_the_split_of_a_step_sums_to_it(split: duckdb.DuckDBPyConnection) -> None:
    sql = """
        SELECT count(*), count(*) FILTER (
            compute_ns + exposed_communication_ns + exposed_memory_ns + idle_ns = step_ns
            AND busy_ns + idle_ns = step_ns
            AND overlap_ns + exposed_communication_ns = communication_ns
            AND least(idle_ns, overlap_ns, exposed_communication_ns, exposed_memory_ns) >= 0
            AND gap_ns <= idle_ns AND communication_ns <= nccl_sum_ns
        )
        FROM step_time
    """
    ((count, right),) = rows(split, sql)
    assert count == right >= 59 + 59 + 31


def test_steps_follow_each_other(split: duckdb.DuckDBPyConnection) -> None:
    sql = """
        SELECT bool_and(
            -- The first begins with its range, before its first work.
            coalesce(begin_ns = before_ns, begin_ns <= start_ns) AND start_ns <= end_ns
        ) FROM (
            SELECT *, lag(end_ns) OVER (PARTITION BY device_key ORDER BY begin_ns, end_ns)
                AS before_ns
            FROM kept_device_step
        )
    """
    assert rows(split, sql) == [(True,)]


STEPS = {
    DDP: ("nvtx", 59),
    "nccl_ddp_a100_rank0of4__cap2022.4.2_exp2022.4.2": ("nvtx", 59),
    "pytorch_nvtx_steps_a100__cap2023.2.3_exp2023.4.4": ("nvtx", 31),
    "nccl_sendrecv_2proc_h100__2026.2.1": ("kernel period", 2 * 17),
}


def test_which_files_have_steps(split: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT run_id, origin, count(*) FROM step_time GROUP BY ALL"
    found = {run: (origin, count) for run, origin, count in rows(split, sql)}
    assert found == STEPS


def test_steps_are_found_without_their_ranges(real_store: Store) -> None:
    """By the period of kernels alone there are as many, each about as long, and what the capture's
    end cuts off behind the last."""
    connection = real_store.connect(runs=[DDP])
    sql = "SELECT origin, step, step_ns FROM step_time ORDER BY step"
    by_range = rows(connection, sql)
    connection.execute("CREATE TEMP TABLE nvtx_range AS FROM main.nvtx_range LIMIT 0")
    by_period = rows(connection, sql)
    assert [row[:2] for row in by_range] == [("nvtx", step) for step in range(59)]
    assert [row[:2] for row in by_period] == [("kernel period", step) for step in range(60)]
    assert rows(connection, "SELECT exclusion IS NULL FROM step_time WHERE step = 59") == [(False,)]
    medians = [statistics.median(ns for _, _, ns in steps) for steps in (by_range, by_period)]
    assert medians[1] == pytest.approx(medians[0], rel=0.02)


# -- across ranks --------------------------------------------------------------------------

EXCHANGE = "nccl_sendrecv_2proc_h100__2026.2.1"


@pytest.mark.parametrize("path", [f for f in FILES if run_of(f) == EXCHANGE], ids=run_of)
def test_waits_of_two_processes(
    real: duckdb.DuckDBPyConnection, plain: sqlite3.Connection, path: Path
) -> None:
    """One clock: the k-th kernels of both meet, from the later start to the earlier end."""
    sql = """
        SELECT k.start, k.end FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
        JOIN StringIds AS s ON s.id = k.shortName
        WHERE k.deviceId = ? AND lower(s.value) LIKE '%nccl%' ORDER BY k.start
    """
    both = [plain.execute(sql, [device]).fetchall() for device in (0, 1)]
    pairs = list(zip(*both, strict=True))
    common = sum(min(a[1], b[1]) - max(a[0], b[0]) for a, b in pairs)
    waits = [sum(max(a[0], b[0]) - own[0] for a, b, own in zip(*both, mine, strict=True))
             for mine in both]  # fmt: skip
    assert (common, waits) == (5_739_662, [10_898_336, 2_477_480])
    found = rows(
        real,
        "SELECT nccl_sum_ns, wait_ns, transfer_ns, tail_ns FROM collective_wait"
        " WHERE run_id = ? ORDER BY device_id",
        EXCHANGE,
    )
    assert [row[:3] for row in found] == [
        (17_172_652, 10_898_336, 5_739_662),
        (8_229_100, 2_477_480, 5_739_662),
    ]
    assert all(row[0] == sum(row[1:]) for row in found)


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
