"""The rules of the house, as far as a machine can tell whether they are kept."""

import csv
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
from click.testing import CliRunner

from pipeline import catalog
from pipeline.cli import main
from pipeline.store import Store

ROOT = Path(__file__).parents[1]
QUERIES = list(catalog.queries().values())
TABLES = list(catalog.tables().values())
SQL_FILES = sorted([*(ROOT / "queries").rglob("*.sql"), *(ROOT / "schemas").glob("*.sql")])


@pytest.fixture(scope="module")
def samples(sample_store: Path) -> duckdb.DuckDBPyConnection:
    return Store.open(sample_store).connect(asked=catalog.queries())


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """No rows, and views of views as tables: to describe a view binds all that it comes to."""
    store = Store.create(tmp_path_factory.mktemp("described"))
    return store.connect(asked=catalog.queries())


def name_of(thing: Any) -> str:
    return str(thing.name)


def rows_of(reference: str) -> list[dict[str, str]]:
    with catalog.reference()[reference].open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# -- queries -------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES, ids=name_of)
def test_a_query_says_what_it_is(
    query: catalog.Query, described: duckdb.DuckDBPyConnection
) -> None:
    assert query.doc.endswith(".")
    assert query.grain.startswith("one row per ")
    assert query.better in ("", "higher", "lower")
    assert bool(query.hint) == (query.layer == "findings")
    columns = described.execute(f"DESCRIBE {query.name}").fetchall()
    assert [column.name for column in query.columns] == [name for name, *_ in columns]
    assert all(len(column.doc) > 3 for column in query.columns)


@pytest.mark.parametrize("query", QUERIES, ids=name_of)
def test_a_query_is_one_select(query: catalog.Query) -> None:
    (statement,) = duckdb.connect().extract_statements(query.sql)
    assert statement.type == duckdb.StatementType.SELECT


@pytest.mark.parametrize("query", QUERIES, ids=name_of)
def test_a_query_reads_only_its_own_layer_and_those_before(query: catalog.Query) -> None:
    allowed = {*catalog.tables(), *catalog.reference()}
    if query.layer == "findings":
        allowed = set(catalog.reference())
    before = catalog.LAYERS[: catalog.LAYERS.index(query.layer) + 1]
    allowed |= {q.name for q in QUERIES if q.layer in before and q.name != query.name}
    assert tables_read(query.sql) <= allowed
    assert tables_read(query.sql) <= catalog.reached([query.name])


def tables_read(sql: str) -> set[str]:
    (text,) = duckdb.connect().execute("SELECT json_serialize_sql(?)", [sql]).fetchall()[0]
    nodes = list(nodes_of(json.loads(text)))
    named = {node["table_name"] for node in nodes if node.get("type") == "BASE_TABLE"}
    ctes = {entry["key"] for node in nodes for entry in node.get("cte_map", {}).get("map", [])}
    return named - ctes


def nodes_of(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(child, dict | list):
            yield from nodes_of(child)


def test_a_view_that_reads_a_later_layer_would_be_found() -> None:
    sql = "WITH own AS (FROM kernel) SELECT * FROM own JOIN nccl_time_share ON true"
    assert tables_read(sql) == {"kernel", "nccl_time_share"}


@pytest.mark.parametrize("query", QUERIES, ids=name_of)
def test_a_query_has_a_test(query: catalog.Query) -> None:
    assert (ROOT / f"tests/queries/test_{query.name}.py").exists()


METRICS = [query for query in QUERIES if query.layer == "metrics"]


@pytest.mark.parametrize("query", METRICS, ids=name_of)
def test_rows_of_a_metric_have_an_order(query: catalog.Query) -> None:
    assert re.search(r"^ORDER BY\b", query.sql, re.MULTILINE)


COMBINED = [query for query in QUERIES if query.grain.endswith(")")]


@pytest.mark.parametrize("query", COMBINED, ids=name_of)
def test_a_grain_tells_rows_apart(query: catalog.Query, samples: duckdb.DuckDBPyConnection) -> None:
    keys = ", ".join(re.findall(r"\w+", query.grain[query.grain.rindex("(") :]))
    sql = f"SELECT {keys}, count(*) FROM {query.name} GROUP BY ALL HAVING count(*) > 1"
    assert samples.execute(sql).fetchall() == []


@pytest.mark.parametrize("query", METRICS, ids=name_of)
def test_the_order_of_rows_leaves_nothing_open(
    query: catalog.Query, samples: duckdb.DuckDBPyConnection
) -> None:
    order = query.sql[query.sql.rindex("ORDER BY") + len("ORDER BY") :]
    keys = ", ".join(re.findall(r"(\w+)\)?(?: DESC)?(?: NULLS LAST)?(?:,|\s*$)", order))
    sql = f"SELECT {keys}, count(*) FROM {query.name} GROUP BY ALL HAVING count(*) > 1"
    assert samples.execute(sql).fetchall() == []


# -- how SQL is written --------------------------------------------------------------------

KEYWORDS = frozenset(
    [
        "select",
        "from",
        "where",
        "group",
        "by",
        "order",
        "join",
        "left",
        "on",
        "using",
        "and",
        "or",
        "not",
        "null",
        "is",
        "in",
        "as",
        "with",
        "over",
        "partition",
        "case",
        "when",
        "then",
        "else",
        "end",
        "union",
        "all",
        "create",
        "table",
        "macro",
        "view",
        "distinct",
        "having",
        "limit",
        "between",
        "filter",
        "asof",
        "semi",
        "materialized",
        "window",
        "rows",
        "preceding",
        "unbounded",
        "check",
    ]
)


def sql_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_sql_is_narrow() -> None:
    lines = [
        f"{sql_name(path)}:{number}: {len(line)} characters"
        for path in SQL_FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 90
    ]
    assert lines == []


@pytest.mark.parametrize("path", SQL_FILES, ids=sql_name)
def test_the_keywords_of_sql_are_upper_case(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n") and "\t" not in text
    code = re.sub(r"--.*|'[^']*'", "", text)
    assert [word for word in re.findall(r"\b[a-z_]+\b", code) if word in KEYWORDS] == []
    assert not re.search(r"\bAND$", code, re.MULTILINE), "AND leads its line"


# -- tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=name_of)
def test_every_column_of_a_table_has_a_comment(
    table: catalog.Table, empty_connection: duckdb.DuckDBPyConnection
) -> None:
    assert table.doc.endswith(".")
    described = empty_connection.execute(f"DESCRIBE {table.name}").fetchall()
    assert [(c.name, c.type) for c in table.columns] == [row[:2] for row in described]
    assert [c.is_required for c in table.columns] == [row[2] == "NO" for row in described]
    assert all(column.doc.rstrip().endswith(".") for column in table.columns)


@pytest.mark.parametrize("table", TABLES, ids=name_of)
def test_a_table_begins_with_its_keys(table: catalog.Table) -> None:
    assert tuple(column.name for column in table.columns[:2]) == catalog.PARTITION_KEYS
    assert all(column.is_required for column in table.columns[:2])


def test_tables_views_and_references_have_names_of_their_own() -> None:
    names = [*catalog.tables(), *catalog.queries(), *catalog.reference()]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@pytest.mark.parametrize("thing", [*TABLES, *QUERIES], ids=name_of)
def test_units_are_base_units(thing: catalog.Table | catalog.Query) -> None:
    scaled = re.compile(r"_(pct|percent|ms|us|s|sec|seconds|kb|mb|gb|mib|gib|mhz|ghz|mw)$")
    names = [column.name for column in thing.columns if not column.name.endswith("_per_s")]
    assert [name for name in names if scaled.search(name)] == []
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)


# -- reference tables ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        ("kernel_class", "priority"),
        ("kernel_class", "pattern"),
        ("threshold", "name"),
        ("gpu_metric", "metric"),
        ("gpu_metric", "dcgm_id"),
        ("gpu_metric", "dcgm_short_name"),
        ("gpu_metric", "dcgm_macro"),
        ("gpu_metric", "dcgm_macro_old"),
        ("gpu_metric", "exporter_name"),
        ("gpu_metric", "nvidia_smi_query"),
        ("gpu_metric", "nvidia_smi_dmon"),
        ("gpu_metric", "nsys_name"),
    ],
)
def test_keys_are_unique(reference: str, key: str) -> None:
    # A cell of gpu_metric lists every name a metric has had in one tool.
    cells = [row[key] for row in rows_of(reference)]
    if reference == "gpu_metric":
        cells = [name for cell in cells for name in cell.split("|") if name]
    keys = Counter(cells)
    assert [key for key, count in keys.items() if count > 1] == []


def test_patterns_can_match_a_lower_case_name() -> None:
    patterns = [row["pattern"] for row in rows_of("kernel_class")]
    assert [pattern for pattern in patterns if pattern != pattern.lower()] == []


def test_a_threshold_has_a_reason_and_is_used() -> None:
    asked: set[str] = set()
    for path in SQL_FILES:
        asked |= set(re.findall(r"threshold_of\('(\w+)'\)", path.read_text(encoding="utf-8")))
    rows = rows_of("threshold")
    assert asked == {row["name"] for row in rows}
    for row in rows:
        assert row["reason"] and row["source"], row["name"]
        assert row["name"].endswith((row["unit"], "_count")), row["name"]


UNITS = ("_share", "_hz", "_bytes_per_s", "_w", "_j", "_celsius", "_bytes", "_ns", "_count")


def test_metrics_of_gpus_end_in_their_unit() -> None:
    for row in rows_of("gpu_metric"):
        assert row["kind"] in ("gauge", "rate", "counter", "state", "mask"), row["metric"]
        # A state is a code or a flag, a mask its bits, and a bit error rate a plain number.
        bare = row["kind"] in ("state", "mask") or row["metric"].endswith("_error_rate")
        assert bare or row["metric"].endswith(UNITS), row["metric"]
        assert row["kind"] != "rate" or row["metric"].endswith("_per_s"), row["metric"]
        assert row["meaning"], row["metric"]


def test_a_name_of_a_gpu_metric_has_a_factor() -> None:
    factors = {
        "dcgm_scale": ("dcgm_id", "dcgm_short_name", "dcgm_macro", "exporter_name"),
        "nvidia_smi_scale": ("nvidia_smi_query", "nvidia_smi_dmon"),
        "nsys_scale": ("nsys_name",),
    }
    for row in rows_of("gpu_metric"):
        for factor, names in factors.items():
            assert bool(row[factor]) == any(row[name] for name in names), row["metric"]


# -- files ---------------------------------------------------------------------------------

MODULES = [
    path
    for folder in ("pipeline", "tests", "sample_traces", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def test_no_two_modules_have_one_name() -> None:
    special = ("__init__", "__main__", "conftest")
    # What writes the sample of a format is called like its reader.
    readers = {path.stem for path in MODULES if path.parent.name == "readers"}
    names = Counter(
        path.stem
        for path in MODULES
        if path.stem not in special
        and not (path.parent.name == "sample_traces" and path.stem in readers)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_is_named_after_nothing() -> None:
    vague = {"util", "utils", "helper", "helpers", "common", "manager", "base", "misc"}
    assert [path for path in MODULES if path.stem in vague] == []


def kept_files() -> list[Path]:
    """Files under version control, or, in a copy without it, everything that is no product."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
        names = listed.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        folders = ("pipeline", "queries", "schemas", "tests", "sample_traces", "benchmarks")
        files = (path for folder in folders for path in (ROOT / folder).rglob("*.*"))
        names = [str(path) for path in files if "__pycache__" not in path.parts]
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_no_file_names_a_place_on_some_machine() -> None:
    # In pieces, so that this file does not name them. The samples' made-up user is "someone".
    starts = (
        "/ho" + "me/(?!someone)",
        "/Us" + "ers/",
        "/ro" + "ot/",
        "/wo" + "rk/",
        "/tm" + "p/w/",
    )
    # Only where a path begins.
    pattern = re.compile(r"(?<![\w.$*}/-])(?:" + "|".join(starts) + ")")
    found = []
    for path in kept_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {hit}" for hit in pattern.findall(text)]
    assert found == []


# -- the command line ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, *sorted(main.commands)])
def test_the_help_of_a_command_has_an_example(name: str | None) -> None:
    text = CliRunner().invoke(main, [name, "--help"] if name else ["--help"]).stdout
    example = re.search(r"^ *Example:\n +tracelake (\S+)", text, re.MULTILINE)
    assert example, text
    assert example[1] == name or name is None
    options = main.commands[name].params if name else main.params
    assert all(option.help for option in options if isinstance(option, click.Option))
