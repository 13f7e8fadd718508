"""The command line: what is printed where, and with which exit code."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import duckdb
import pyarrow.parquet as pq
import pytest

from pipeline import __version__, catalog
from pipeline.cli import main
from pipeline.ingest import ingest
from pipeline.store import Store

Golden = Callable[[str, str], None]
Asked = Callable[..., click.testing.Result]


@pytest.fixture
def ask(sample_store: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Runs a command on the samples. Unknown faults are raised, not turned into an exit code."""
    monkeypatch.setenv("TRACELAKE_STORE", str(sample_store))

    def run(*arguments: str, **more: Any) -> click.testing.Result:
        runner = click.testing.CliRunner()
        result = runner.invoke(main, arguments, catch_exceptions=False, **more)
        if result.exit_code == 2:
            assert result.stdout == ""  # nothing but results goes there
        return result

    return run


def result_of(result: click.testing.Result) -> str:
    assert (result.exit_code, result.stderr) == (0, "")
    return str(result.stdout)


def fault_of(result: click.testing.Result) -> str:
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("tracelake: ")
    return str(line.removeprefix("tracelake: "))


# -- looking things up ---------------------------------------------------------------------


def test_runs(ask: Asked, golden: Golden) -> None:
    golden("runs.txt", result_of(ask("runs")))


def test_runs_as_csv_keep_base_units(ask: Asked) -> None:
    rows = list(csv.DictReader(io.StringIO(result_of(ask("runs", "--format", "csv")))))
    (run,) = (row for row in rows if row["run_id"] == "time_shifted")
    assert run["start_utc_ns"] == "1772438400000000000"
    assert (run["source_count"], run["world_size"]) == ("1", "4")


def test_views(ask: Asked, golden: Golden) -> None:
    golden("views.txt", result_of(ask("views")))


@pytest.mark.parametrize("name", ["nccl_time_share", "memory_copy", "threshold"])
def test_describe_a_view_a_table_a_reference(ask: Asked, golden: Golden, name: str) -> None:
    golden(f"describe_{name}.txt", result_of(ask("describe", name)))


# -- query ---------------------------------------------------------------------------------


def test_a_table_scales_for_people(ask: Asked, golden: Golden) -> None:
    text = result_of(ask("query", "nccl_time_share", "--run", "two_processes_one_file"))
    golden("query_nccl_time_share.txt", text)


def test_csv_keeps_base_units(ask: Asked, golden: Golden) -> None:
    run = ("--run", "two_processes_one_file")
    golden("query_kernel_gap.csv", result_of(ask("query", "kernel_gap", *run, "--format", "csv")))


def test_json_is_an_array_of_objects_with_whole_ns(ask: Asked, golden: Golden) -> None:
    run = ("--run", "two_processes_one_file")
    text = result_of(ask("query", "nccl_time_share", *run, "--format", "json"))
    golden("query_nccl_time_share.json", text)
    rows = json.loads(text)
    assert [type(row) for row in rows] == [dict, dict]
    assert all(isinstance(v, int) for row in rows for k, v in row.items() if k.endswith("_ns"))
    assert [row["rank"] for row in rows] == [None, None]


def test_json_holds_lists_and_objects(ask: Asked) -> None:
    text = result_of(ask("query", "kernel_gap_summary", "--format", "json"))
    histogram = json.loads(text)[0]["histogram"]
    assert set(histogram[0]) == {"lower_ns", "idle_count", "idle_ns"}


@pytest.mark.parametrize(("format_", "expected"), [("json", "[]\n"), ("csv", "run_id,")])
def test_no_rows(ask: Asked, format_: str, expected: str) -> None:
    arguments = ("query", "kernel_gap", "--run", "cpu_only", "--format", format_)
    assert ask(*arguments).stdout.startswith(expected)


@pytest.mark.filterwarnings("error::UserWarning")
def test_parquet_goes_to_a_file(ask: Asked, tmp_path: Path) -> None:
    file = tmp_path / "kernels.parquet"
    command = ("query", "kernel", "--run", "ddp_healthy", "--format", "parquet", "--output")
    assert result_of(ask(*command, str(file))) == ""
    table = pq.read_table(file)
    assert table.num_rows == 4 * 301
    assert str(table.schema.field("start_ns").type) == "int64"


def test_parquet_needs_a_file(ask: Asked) -> None:
    assert "add --output FILE" in fault_of(ask("query", "kernel", "--format", "parquet"))


def test_parquet_to_a_place_that_cannot_be_written(ask: Asked, tmp_path: Path) -> None:
    file = str(tmp_path / "missing" / "run.parquet")
    assert "cannot be written" in fault_of(
        ask("query", "run", "--format", "parquet", "--output", file)
    )


def test_output_goes_to_a_file(ask: Asked, tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    assert result_of(ask("runs", "--format", "csv", "--output", str(file))) == ""
    assert file.read_text(encoding="utf-8") == ask("runs", "--format", "csv").stdout


def test_run_restricts_and_may_be_repeated(ask: Asked) -> None:
    one, two = ("--run", "ddp_healthy"), ("--run", "cuda_graph")
    text = result_of(ask("query", "nccl_time_share", *one, *two, "--format", "json"))
    assert {row["run_id"] for row in json.loads(text)} == {"ddp_healthy", "cuda_graph"}


def test_set_overrides_a_threshold(ask: Asked) -> None:
    def gaps(*more: str) -> int:
        text = result_of(ask("query", "kernel_gap", "--run", "ddp_healthy", *more))
        return len(text.splitlines())

    assert gaps("--set", "kernel_gap_ns=0") > gaps() > gaps("--set", "kernel_gap_ns=1e5")
    assert gaps("--set", "kernel_gap_ns=10000") == gaps()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("query", "ncl_time_share"), "did you mean nccl_time_share"),
        (("query", "x" * 30), "see 'tracelake views'"),
        (("describe", "kernels"), "did you mean kernel"),
        (("query", "kernel", "--run", "ddp_healty"), "there are: ddp_healthy"),
        (("sql", "SELECT 1", "--run", "nothing like it"), "not in the store"),
        (
            ("query", "kernel_gap", "--set", "gap=1"),
            "did you mean 'kernel_gap_ns'?",
        ),
        (("query", "kernel", "--store", "no_such_store"), "no tracelake store here"),
    ],
)
def test_an_unknown_name_is_told_in_one_line(
    ask: Asked, arguments: tuple[str, ...], said: str
) -> None:
    assert said in fault_of(ask(*arguments))


def test_a_file_sets_thresholds_too(
    ask: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tracelake.toml").write_text("[thresholds]\nkernel_gap_ns = 1e9\n")

    def gaps(*more: str) -> int:
        return ask("query", "kernel_gap", "--format", "csv", *more).stdout.count("\n")

    before = gaps()
    monkeypatch.chdir(tmp_path)
    assert gaps() == 1 < before
    assert gaps("--set", "kernel_gap_ns=10000") == before
    (tmp_path / "tracelake.toml").write_text("[thresholds]\nkernel_gap = 1e9\n")
    assert "tracelake.toml:2: 'kernel_gap': no such threshold" in fault_of(
        ask("query", "kernel_gap")
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "kernel_gap", "--set", "kernel_gap_ns=many"),
        ("query", "kernel_gap", "--set", "kernel_gap_ns"),
        ("query",),
        ("query", "kernel", "--format", "xml"),
        ("no_such_command",),
        ("ingest",),
        ("ingest", "x", "--jobs", "0"),
    ],
)
def test_bad_usage_is_code_2(ask: Asked, arguments: tuple[str, ...]) -> None:
    result = ask(*arguments)
    assert result.exit_code == 2
    assert "Error: " in result.stderr


def test_version_and_help(ask: Asked) -> None:
    assert result_of(ask("--version")) == f"tracelake, version {__version__}\n"
    assert result_of(ask("-h")) == result_of(ask("--help"))


# -- sql -----------------------------------------------------------------------------------

COUNT = "SELECT count(*) AS kernel_count FROM kernel WHERE run_id = 'ddp_healthy'"
COUNTED = "kernel_count\n1204\n"


def test_sql_is_an_argument_a_file_or_stdin(ask: Asked, tmp_path: Path) -> None:
    file = tmp_path / "count.sql"
    file.write_text(f"-- How many?\n{COUNT};\n", encoding="utf-8")
    csv_ = ("--format", "csv")
    assert result_of(ask("sql", COUNT, *csv_)) == COUNTED
    assert result_of(ask("sql", "--file", str(file), *csv_)) == COUNTED
    assert result_of(ask("sql", *csv_, input=COUNT)) == COUNTED


def test_sql_may_explain_and_set_thresholds(ask: Asked) -> None:
    assert "PARQUET" in result_of(ask("sql", "EXPLAIN SELECT 1 FROM run")).upper()
    arguments = ("sql", "SELECT threshold_of('kernel_gap_ns') AS ns", "--format", "csv")
    assert result_of(ask(*arguments, "--set", "kernel_gap_ns=7")) in ("ns\n7\n", "ns\n7.0\n")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP VIEW kernel", "DROP is not allowed"),
        ("COPY (SELECT 1) TO 'written.csv'", "COPY is not allowed"),
        ("INSERT INTO threshold VALUES ('a', 1, 'b', 'c', 'd')", "INSERT is not allowed"),
        ("UPDATE threshold SET value = 1", "UPDATE is not allowed"),
        ("CREATE TABLE written AS SELECT 1", "CREATE is not allowed"),
        ("ATTACH 'written.db'", "ATTACH is not allowed"),
        ("SET threads = 1", "SET is not allowed"),
        ("PRAGMA database_list", "is not allowed"),
        ("EXPLAIN ANALYZE SELECT 1", "EXPLAIN is not allowed"),
        ("EXPLAIN/**/ANALYZE COPY (SELECT 1) TO 'written.csv'", "EXPLAIN is not allowed"),
        ("EXPLAIN (ANALYZE) COPY (SELECT 1) TO 'written.csv'", "EXPLAIN is not allowed"),
        ("WITH a AS (COPY (SELECT 1) TO 'written.csv') SELECT 1", "WITH clause is not allowed"),
        ("WITH a AS (INSERT INTO threshold SELECT 1) SELECT 1", "WITH clause is not allowed"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT 1; DROP VIEW kernel", "2 statements"),
        ("", "0 statements"),
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM kernel", '"nothing" not found'),
        ("FROM no_such_table", "no_such_table"),
    ],
)
def test_sql_only_reads(
    ask: Asked, statement: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in fault_of(ask("sql", statement))
    assert list(tmp_path.iterdir()) == []


def test_values_that_json_has_no_word_for_are_null(ask: Asked) -> None:
    text = result_of(
        ask("sql", "SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b", "--format", "json")
    )
    assert text == '[{"a": null, "b": null}]\n'


def test_infinity_can_be_shown(ask: Asked) -> None:
    assert "inf" in result_of(ask("sql", "SELECT 'inf'::DOUBLE AS dur_ns"))


def test_sql_refuses_two_sources_and_a_missing_file(ask: Asked, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.sql")
    assert "give one of the two" in fault_of(ask("sql", "SELECT 1", "--file", missing))
    assert "missing.sql" in fault_of(ask("sql", "--file", missing))


def test_too_little_memory_says_how_to_allow_more(
    ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACELAKE_MEMORY_LIMIT", "2MB")
    assert "TRACELAKE_MEMORY_LIMIT=4GB" in fault_of(ask("query", "straggler"))
    monkeypatch.setenv("TRACELAKE_MEMORY_LIMIT", "much")
    assert "'much' is no size" in fault_of(ask("query", "straggler"))


# -- database ------------------------------------------------------------------------------


def test_a_database_opens_in_any_duckdb(ask: Asked, tmp_path: Path) -> None:
    file = tmp_path / "made" / "tracelake.duckdb"
    result = ask("database", "--output", str(file), "--set", "kernel_gap_ns=7")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"wrote {file}\n"
    connection = duckdb.connect(str(file), read_only=True)
    sql = "SELECT rank, nccl_count FROM nccl_time_share WHERE run_id = 'ddp_healthy'"
    assert connection.execute(sql).fetchall() == [(0, 18), (1, 18), (2, 18), (3, 18)]
    assert connection.execute("SELECT threshold_of('kernel_gap_ns')").fetchone() == (7,)
    connection.close()
    assert "exists already" in fault_of(ask("database", "--output", str(file)))


def test_a_database_keeps_the_views_that_are_wanted(ask: Asked, tmp_path: Path) -> None:
    file = tmp_path / "tracelake.duckdb"
    assert ask("database", "--output", str(file), "--keep", "collective_wait").exit_code == 0
    connection = duckdb.connect(str(file), read_only=True)
    tables = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
    assert tables >= {*catalog.queries(), *catalog.tables(), *catalog.reference()}
    sql = "SELECT table_name FROM duckdb_tables() WHERE table_name = 'collective_wait'"
    assert connection.execute(sql).fetchall() == [("collective_wait",)]
    assert connection.execute("SELECT count(*) FROM collective_wait").fetchone() != (0,)
    connection.close()
    unknown = ask("database", "--output", str(tmp_path / "b"), "--keep", "colective_wait")
    assert "did you mean collective_wait" in fault_of(unknown)


# -- ingest --------------------------------------------------------------------------------

SAMPLES = Path(__file__).parents[1] / "sample_traces"


def test_ingest_says_what_became_of_the_files(ask: Asked, tmp_path: Path) -> None:
    store, job = str(tmp_path / "store"), str(SAMPLES / "gpu_metrics")
    first = ask("ingest", job, "--store", store, "--jobs", "1")
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr == f"2 stored, 1 not traces, 2 436 rows; 1 run in {store}\n"
    again = ask("ingest", job, "--store", store, "--jobs", "1")
    assert again.stderr == f"2 unchanged, 1 not traces; 1 run in {store}\n"


def test_a_bad_file_is_one_line_and_code_2_and_stops_no_other(ask: Asked, tmp_path: Path) -> None:
    traces = tmp_path / "job"
    traces.mkdir()
    (traces / "bad.sqlite").write_bytes(b"SQLite format 3\0" + b"\1" * 84)
    good = SAMPLES / "cpu_only" / "rank0.sqlite.xz"
    (traces / "good.sqlite.xz").write_bytes(good.read_bytes())
    result = ask("ingest", str(traces), "--store", str(tmp_path / "store"), "--jobs", "1")
    assert result.exit_code == 2
    assert [line for line in result.stderr.splitlines() if "bad.sqlite" in line] != []
    assert "1 stored, 1 refused" in result.stderr
    assert "Traceback" not in result.stderr


def test_ingest_puts_everything_into_the_run_it_is_told(ask: Asked, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    job = str(SAMPLES / "gpu_metrics")
    ask("ingest", job, "--store", store, "--run", "mine", "--jobs", "1")
    text = result_of(ask("runs", "--store", store, "--format", "json"))
    assert [row["run_id"] for row in json.loads(text)] == ["mine"]
    assert "cannot name a run" in fault_of(ask("ingest", job, "--store", store, "--run", ".."))


def test_ingest_of_nothing_is_a_fault(ask: Asked, tmp_path: Path) -> None:
    result = ask("ingest", str(tmp_path / "missing"), "--store", str(tmp_path / "store"))
    assert result.exit_code == 2
    assert str(tmp_path / "missing") in result.stderr


def test_a_folder_with_other_things_is_no_store(ask: Asked, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    result = ask("ingest", str(SAMPLES / "cpu_only"), "--store", str(tmp_path))
    assert "folder is not empty and no store" in fault_of(result)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


# -- as a program --------------------------------------------------------------------------


def program(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipeline", *arguments]
    environment = {**os.environ, **more.pop("env", {})}
    root = SAMPLES.parent
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False, **more
    )


def test_it_runs_as_a_module(sample_store: Path) -> None:
    env = {"TRACELAKE_STORE": str(sample_store)}
    asked = program("sql", "--format", "csv", input=COUNT, env=env)
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, COUNTED, "")
    refused = program("query", "nothing", env=env)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1


def test_the_store_defaults_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACELAKE_STORE", raising=False)
    ingest([SAMPLES / "cpu_only"], Store.create("tracelake_store"), jobs=1)
    result = click.testing.CliRunner().invoke(main, ["runs", "--format", "csv"])
    assert result.stdout.splitlines()[1].startswith("cpu_only,")


def test_no_rows_come_with_the_reason(ask: Asked) -> None:
    result = ask("query", "nccl_time_share", "--run", "cpu_only", "--format", "json")
    assert result.stdout == "[]\n"
    assert result.stderr.splitlines()[0] == "nccl_time_share: no rows"
    assert "cpu_only: rank0.sqlite.xz: no GPU activity was captured" in result.stderr


# -- diagnose ------------------------------------------------------------------------------


def test_diagnose_says_the_wall_and_fails_on_it(ask: Asked) -> None:
    result = ask("diagnose", "ddp_late_rank")
    assert result.exit_code == 1
    assert result.stdout.startswith("ddp_late_rank: waiting (rank 2 on node-b) costs ")
    assert ask("diagnose", "ddp_late_rank", "--fail-on", "fault").exit_code == 0


def test_diagnose_for_machines(ask: Asked) -> None:
    (record,) = [json.loads(ask("diagnose", "ddp_late_rank", "--format", "json").stdout)]
    assert (record["kind"], record["walls"][0]["wall"]) == ("wall", "waiting")
    assert record["findings"][0]["finding"] == "late_rank"


def test_diagnose_obeys_thresholds(ask: Asked) -> None:
    arguments = ("--set", "wall_share=0.9", "--set", "communication_wall_share=0.9")
    result = ask("diagnose", "ddp_late_rank", *arguments)
    assert result.exit_code == 0
    assert "no wall found" in result.stdout


def test_diagnose_of_an_unknown_run(ask: Asked) -> None:
    assert "there are: ddp_late_rank" in fault_of(ask("diagnose", "ddp_late_rankk"))
