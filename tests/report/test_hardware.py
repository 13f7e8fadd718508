"""The hardware section on jobs whose hardware was slowed down."""

from pathlib import Path

import pytest

from pipeline.ingest import ingest
from pipeline.report import counters, hardware
from pipeline.report.section import Section
from pipeline.store import Store

SAMPLES = Path(__file__).parents[2] / "sample_traces"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store.create(tmp_path_factory.mktemp("hardware") / "store")
    runs = ("power_brake", "throttled_gpu", "cpu_only")
    ingest([SAMPLES / run for run in runs], store, jobs=1)
    return store


def shown(store: Store, run: str) -> Section:
    return hardware.section(store.connect(runs=[run], asked=hardware.VIEWS))


def cells(section: Section, table: str, *columns: str) -> list[tuple[object, ...]]:
    (one,) = [one for one in section.tables if one.name == table]
    return [tuple(row[one.columns.index(name)] for name in columns) for row in one.rows]


def test_the_hot_gpu(store: Store) -> None:
    section = shown(store, "throttled_gpu")
    events = cells(section, "throttle_events", "limited_by", "place", "gpu_count")
    assert events == [("hardware thermal slowdown", "node1 GPU 2", 1)]
    assert cells(section, "errors", "gpu", "severity") == [("node1 GPU 2", "critical")]
    # 13 of 40 samples.
    assert cells(section, "clocks", "gpu", "thermal_share")[0] == ("node1 GPU 2", 0.325)
    (chart,) = section.charts
    (drawn,) = next(iter(chart.spec["datasets"].values()))
    assert (drawn["gpu"], drawn["part"], drawn["part_share"]) == (
        "node1 GPU 2",
        "temperature",
        0.325,
    )


def test_the_braked_host(store: Store) -> None:
    section = shown(store, "power_brake")
    events = cells(section, "throttle_events", "limited_by", "scope", "place", "gpu_count")
    assert events == [("power brake", "host", "node-b", 4)] * 2
    ((known, sampled),) = cells(section, "energy", "gpu_count", "sampled_gpu_count")
    assert (known, sampled) == (8, 8)


def test_without_telemetry_it_says_what_to_record(store: Store) -> None:
    section = shown(store, "cpu_only")
    assert "dcgmi dmon" in section.empty and section.tables == ()


def test_codes_and_totals_have_no_average(store: Store) -> None:
    connection = store.connect(runs=["throttled_gpu"], asked=counters.VIEWS)
    sampled = connection.execute("SELECT DISTINCT metric FROM gpu_sample_summary").fetchall()
    assert {("xid",), ("clock_event_reasons",), ("total_energy_j",)} & set(sampled)
    shown = {metric for (metric,) in cells(counters.section(connection), "counters", "metric")}
    assert {"sm_clock_hz", "power_w"} <= shown
    assert not {"xid", "clock_event_reasons", "total_energy_j"} & shown
