"""The sample of nccl-tests: what its logs are said to contain is what is read from them."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.ingest import ingest
from pipeline.store import Store

SAMPLES = Path(__file__).parents[1] / "sample_traces"
sys.path.insert(0, str(SAMPLES))

from nccl_tests_logs import write  # noqa: E402

ASKED = (
    "collective_benchmark",
    "collective_benchmark_run",
    "collective_benchmark_device",
    "source_file",
)

DESCRIPTION = SAMPLES / "jobs" / "slow_link.nccl_tests_logs.toml"


@pytest.fixture(scope="module")
def truth_and_store(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Any], duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("slow_link")
    truth = write(tomllib.loads(DESCRIPTION.read_text(encoding="utf-8")), folder / "job")
    store = Store.create(folder / "store")
    outcomes = ingest([folder / "job"], store, jobs=1).outcomes
    assert [(o.kind, o.issues) for o in outcomes] == [("stored", ())] * len(truth["files"])
    return truth, store.connect(asked=ASKED)


def test_every_row_is_read_as_it_was_meant(
    truth_and_store: tuple[dict[str, Any], duckdb.DuckDBPyConnection],
) -> None:
    truth, connection = truth_and_store
    for name, file in truth["files"].items():
        for number, test in enumerate(file["tests"]):
            columns = ", ".join(f"b.{column}" for column in test["rows"][0])
            found = connection.execute(
                f"SELECT {columns} FROM collective_benchmark b JOIN source_file"
                " USING (run_id, source_id) WHERE path = ? AND benchmark_id = ?"
                " ORDER BY line, is_in_place",
                [name, number],
            ).fetchall()
            assert found == [tuple(row.values()) for row in test["rows"]]


def test_tests_and_hosts(
    truth_and_store: tuple[dict[str, Any], duckdb.DuckDBPyConnection],
) -> None:
    truth, connection = truth_and_store
    found = connection.execute(
        "SELECT path, r.op, r.nranks, r.nnodes, r.gpus, r.status, bool_and(b.is_consistent)"
        " FROM collective_benchmark_run r"
        " JOIN collective_benchmark b USING (run_id, source_id, benchmark_id)"
        " JOIN source_file USING (run_id, source_id)"
        " GROUP BY path, r.op, r.nranks, r.nnodes, r.gpus, r.status, r.benchmark_id"
        " ORDER BY path, r.benchmark_id"
    ).fetchall()
    assert found == [
        (name, test["op"], test["nranks"], test["nnodes"], test["gpus"], "complete", True)
        for name, file in sorted(truth["files"].items())
        for test in file["tests"]
    ]
    hosts = connection.execute(
        "SELECT path, list(DISTINCT d.host ORDER BY d.host) FROM collective_benchmark_device d"
        " JOIN source_file USING (run_id, source_id) GROUP BY path ORDER BY path"
    ).fetchall()
    assert dict(hosts) == {name: file["hosts"] for name, file in truth["files"].items()}


def test_the_pairs_point_at_one_node(
    truth_and_store: tuple[dict[str, Any], duckdb.DuckDBPyConnection],
) -> None:
    truth, _ = truth_and_store
    pairs = {name: file for name, file in truth["files"].items() if name.startswith("pair_")}
    speeds = {
        name: round(file["tests"][0]["rows"][0]["busbw_bytes_per_s"] / 1e9)
        for name, file in pairs.items()
    }
    assert sorted(speeds.values()) == [49, 49, 49, 87, 88]
    slow = [set(pairs[name]["hosts"]) for name, speed in speeds.items() if speed < 60]
    assert set.intersection(*slow) == {"node-c"}
