"""Rooflines of the sample are its truth, and those of published reports what ncu says of them."""

import json
import lzma
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.ingest import ingest
from pipeline.store import Store

ROOT = Path(__file__).parents[1]
JOB = ROOT / "sample_traces" / "ddp_late_rank"
PROFILED = json.loads((JOB / "ncu_csv.truth.json").read_text(encoding="utf-8"))["kernels"]
TRACED = json.loads((JOB / "truth.json").read_text(encoding="utf-8"))["files"]
REAL = ROOT.parent / "shared" / "traces" / "ncu"
VIEWS = ("roofline", "speed_of_light", "kernel_limit", "weighted_roofline")


@pytest.fixture(scope="module")
def connection(sample_store: Path) -> duckdb.DuckDBPyConnection:
    return Store.open(sample_store).connect(runs=["ddp_late_rank"], asked=VIEWS)


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = connection.execute(sql)
    names = [name for name, *_ in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@pytest.mark.parametrize("page", ["raw", "details"])
@pytest.mark.parametrize("kernel", PROFILED, ids=lambda kernel: str(kernel["kernel_id"]))
def test_points_of_the_sample(
    connection: duckdb.DuckDBPyConnection, kernel: dict[str, Any], page: str
) -> None:
    own = f"kernel_id = {kernel['kernel_id']} AND source_id = ({source_of(page)})"
    (limit,) = rows(connection, f"FROM speed_of_light WHERE {own}")
    assert (limit["class"], limit["is_clock_locked"]) == (kernel["class"], True)
    found = {(p["level"], p["work"]): p for p in rows(connection, f"FROM roofline WHERE {own}")}
    assert set(found) == {(point["level"], point["work"]) for point in kernel["roofline"]}
    for point in kernel["roofline"]:
        for name, value in point.items():
            same = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            assert found[point["level"], point["work"]][name] == same, name


def source_of(page: str) -> str:
    return f"SELECT source_id FROM source_file WHERE path LIKE '%{page}.csv'"


@pytest.mark.parametrize("rank", range(4))
def test_shares_of_the_sample(connection: duckdb.DuckDBPyConnection, rank: int) -> None:
    (process,) = TRACED[f"rank{rank}.sqlite.xz"]["processes"]
    (device,) = process["devices"]
    # The hostile name is spelt in two ways, and others are no profile's at all.
    classes = {short(kernel["name"]): kernel["class"] for kernel in PROFILED}
    truth: dict[str, int] = {}
    for name, kernel in device["kernels"].items():
        own = "communication" if "nccl" in name else classes.get(short(name), "not profiled")
        truth[own] = truth.get(own, 0) + kernel["total_ns"]
    found = rows(connection, f"FROM weighted_roofline WHERE rank = {rank} AND step IS NULL")
    assert {row["class"]: row["total_ns"] for row in found} == truth
    assert sum(row["kernel_time_share"] for row in found) == pytest.approx(1)


def short(name: str) -> str:
    """Enough of a name to know the sample's kernels by."""
    return "evil" if "evil" in name else name[:80]


def test_steps_of_the_sample(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT step, sum(kernel_time_share) AS whole FROM weighted_roofline WHERE rank = 1"
    found = rows(connection, f"{sql} AND step IS NOT NULL GROUP BY step ORDER BY step")
    assert [row["step"] for row in found] == list(range(6))
    assert [row["whole"] for row in found] == pytest.approx([1] * 6)


# What each published report's own rule SOLBottleneck says, in the words of the view.
SAID = {
    "a100.n241.details.all.csv": [("memory bound", False, False)],
    "b200_2025.2_algo23.details.csv": [("latency bound", False, True)],
    "live_full_b200_cublaslt.log": [("latency bound", False, False)],
    "nvtx.n241.details.base.csv": [("memory bound", True, False)] * 3,
}


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL.is_dir(), reason="the published files are not here")
@pytest.mark.parametrize("name", SAID)
def test_ncu_says_the_same(tmp_path: Path, name: str) -> None:
    connection = published(tmp_path, name)
    sql = "SELECT class, is_high, is_small_grid FROM speed_of_light ORDER BY kernel_id"
    assert connection.execute(sql).fetchall() == SAID[name]


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL.is_dir(), reason="the published files are not here")
def test_peaks_of_a_published_report(tmp_path: Path) -> None:
    connection = published(tmp_path, "a100.n241.raw.base.csv")
    dram = rows(connection, "FROM roofline WHERE level = 'DRAM' AND work = 'fp32'")
    shares = rows(connection, "FROM speed_of_light")
    assert [row["peak_bytes_per_s"] for row in dram] == pytest.approx([1555.1e9] * 3, rel=1e-4)
    for point, limit in zip(dram, shares, strict=True):
        assert round(point["memory_share"], 4) == round(limit["dram_share"], 4)
    # "The workload achieved 21% of this device's fp32 peak performance".
    assert [round(row["flops_per_s"] / row["peak_flops_per_s"], 2) for row in dram] == [0.21] * 3


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL.is_dir(), reason="the published files are not here")
def test_bytes_over_the_peak_are_ncu_s_own_share_of_dram(tmp_path: Path) -> None:
    connection = published(tmp_path, "a100.n241.raw.base.csv")
    found = rows(connection, "FROM bandwidth_efficiency WHERE subject_kind = 'dram kernel'")
    computed = [round(row["bytes_per_s"] / row["reference_bytes_per_s"], 4) for row in found]
    stated = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
    told = rows(connection, f"FROM kernel_metric WHERE metric = '{stated}' ORDER BY kernel_id")
    assert computed == [round(row["value"] / 100, 4) for row in told]
    assert computed == [round(row["efficiency_share"], 4) for row in found]


def published(folder: Path, name: str) -> duckdb.DuckDBPyConnection:
    (source,) = (path for path in REAL.iterdir() if path.name in (name, f"{name}.xz"))
    data = source.read_bytes()
    (folder / "run").mkdir()
    file = folder / "run" / name
    file.write_bytes(lzma.decompress(data) if source.suffix == ".xz" else data)
    store = Store.create(folder / "store")
    ingest([folder / "run"], store, jobs=1)
    return store.connect(asked=[*VIEWS, "bandwidth_efficiency", "kernel_metric"])
