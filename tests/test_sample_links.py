"""Made-up links and run.toml: what was written is what the pipeline says of it."""

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.ingest import ingest
from pipeline.store import Store

ASKED = (
    "link_benchmark",
    "link",
    "device_affinity",
    "source_file",
    "run_description",
    "run_fact",
    "host_placement",
    "host_address",
)

SAMPLES = Path(__file__).parents[1] / "sample_traces"
RUN_TOMLS = sorted(SAMPLES.glob("jobs/*.run_toml.toml"))
Truth = dict[str, Any]


def written(generator: str, description: Path, folder: Path) -> Truth:
    """Lets a module of sample_traces write the files of a description; its truth."""
    spec = importlib.util.spec_from_file_location(generator, SAMPLES / f"{generator}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    truth: Truth = module.write(tomllib.loads(description.read_text(encoding="utf-8")), folder)
    return truth


def stored(folder: Path, store: Path) -> duckdb.DuckDBPyConnection:
    kept = Store.create(store)
    for outcome in ingest([folder], kept, jobs=1).outcomes:
        assert (outcome.kind, outcome.issues, outcome.fault) == ("stored", (), None)
    return kept.connect(asked=ASKED)


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> tuple[Truth, duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("links")
    truth = written("links", SAMPLES / "jobs" / "bad_cable.links.toml", folder / "job")
    return truth, stored(folder / "job", folder / "store")


Links = tuple[Truth, duckdb.DuckDBPyConnection]


@pytest.mark.parametrize("table", ["link_benchmark", "link", "device_affinity", "device_affinity"])
def test_every_row_is_what_was_written(links: Links, table: str) -> None:
    truth, connection = links
    for name, tables in truth["files"].items():
        found = connection.execute(
            f"SELECT t.* FROM {table} AS t JOIN source_file USING (run_id, source_id)"
            f" WHERE path = '{name}' ORDER BY ALL"
        )
        columns = [column for column, *_ in found.description or []]
        got = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
        rows = tables.get(table, [])
        assert len(got) == len(rows)
        assert all({key: one[key] for key in rows[0]} in rows for one in got)


def test_the_slow_path_stands_out(links: Links) -> None:
    truth, connection = links
    slowest = connection.execute(
        "SELECT path FROM link_benchmark JOIN source_file USING (run_id, source_id)"
        " WHERE link_benchmark.size_bytes = 8388608 ORDER BY bandwidth_bytes_per_s LIMIT 1"
    ).fetchall()
    source, destination = truth["slow_pair"]
    assert slowest == [(f"{source}_to_{destination}.ib_write_bw.txt",)]


def test_the_missing_link_is_missing(links: Links) -> None:
    truth, connection = links
    missing = truth["missing_link"]
    assert connection.execute(
        "SELECT path, source, count(*) FROM link JOIN source_file USING (run_id, source_id)"
        " WHERE origin = 'nvlink' GROUP BY ALL HAVING count(*) <> 18"
    ).fetchall() == [(f"{missing['host']}.nvlink.txt", f"GPU{missing['gpu']}", 17)]


@pytest.mark.parametrize("description", RUN_TOMLS, ids=lambda path: path.stem)
def test_a_run_toml_says_what_was_written(description: Path, tmp_path: Path) -> None:
    truth = written("run_toml", description, tmp_path / "job")
    connection = stored(tmp_path / "job", tmp_path / "store")
    facts = connection.execute("SELECT key, value_text FROM run_description").fetchall()
    assert dict(facts) == truth["facts"]
    facts = connection.execute("SELECT key, value_text FROM run_fact").fetchall()
    assert dict(facts) == truth["facts"]
    hosts = connection.execute("SELECT host, rack, power_domain, switch FROM host_placement")
    assert {host: place for host, *place in hosts.fetchall()} == {
        host: [told.get("rack"), told.get("power_domain"), told.get("switch")]
        for host, told in truth["hosts"].items()
    }
    addresses = connection.execute("SELECT host, address FROM host_address").fetchall()
    assert sorted(addresses) == [
        (host, address)
        for host, told in sorted(truth["hosts"].items())
        for address in told.get("addresses", [])
    ]
