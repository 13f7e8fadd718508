"""What the sections of the verdict, of steps by rank and of one step draw; and the index."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pages import RUNS

from pipeline import diagnose
from pipeline.report import (
    conditions,
    index,
    page,
    page_name,
    step_map,
    step_marks,
    thresholds,
    verdict,
)
from pipeline.report.section import Chart, Section, Source, Table
from pipeline.store import Store


def shown(store: Store, module: Any, run: str) -> Section:
    section: Section = module.section(store.connect(runs=[run], asked=module.VIEWS))
    return section


def drawn(chart: Chart) -> list[dict[str, str]]:
    """Rows that a chart carries as CSV."""
    data = chart.spec["data"]
    carried = data["values"] if "values" in data else chart.spec["datasets"][data["name"]]
    if not isinstance(carried, str):
        return [{key: str(value) for key, value in row.items()} for row in carried]
    return list(csv.DictReader(io.StringIO(carried)))


def test_the_verdict_says_what_diagnose_says(store: Store) -> None:
    connection = store.connect(runs=["ddp_late_rank"], asked=verdict.VIEWS)
    told = verdict.section(connection).verdict
    assert told is not None
    record = diagnose.as_record(diagnose.diagnose(connection, "ddp_late_rank"))
    assert (told.kind, told.sentence) == (record["kind"], record["verdict"])
    assert told.walls[0].name == "waiting" and told.walls[0].share == pytest.approx(
        0.2344, abs=1e-3
    )
    assert next(label for label, _ in told.savings) == "Step without waiting"
    for part in (*told.walls, *told.findings):
        connection.execute(part.source.sql)


def test_an_unknown_cost_says_its_limit_and_why(store: Store) -> None:
    told = shown(store, verdict, "throttled_gpu").verdict
    assert told is not None
    assert told.walls[0].cost == "unknown" and told.walls[0].note.startswith("at most 15.0 %: ")
    assert told.needs and all(command for _, command, _ in told.needs)


def test_every_threshold_is_listed(store: Store) -> None:
    (used,) = shown(store, thresholds, "cpu_only").tables
    (count,) = store.connect().execute("SELECT count(*) FROM threshold").fetchall()
    assert (len(used.rows),) == count and used.row_count == len(used.rows)


def test_each_step_of_the_timeline_sums_to_its_length(store: Store) -> None:
    timeline, own, wait = shown(store, step_map, "ddp_late_rank").charts
    rows = drawn(timeline)
    assert {row["device"] for row in rows} == {f"rank {rank}" for rank in range(4)}
    first = [row for row in rows if row["device"] == "rank 0" and row["step"] == "0"]
    assert float(first[0]["start_s"]) == 0
    ends = [row["end_s"] for row in first]
    assert [row["start_s"] for row in first[1:]] == ends[:-1]
    late = max(drawn(own), key=lambda row: float(row["own_s"]))
    assert late["device"] == "rank 2"
    assert max(drawn(wait), key=lambda row: float(row["wait_s"]))["device"] != "rank 2"


def test_maps_of_ranks_that_agree_are_pale(store: Store) -> None:
    own = shown(store, step_map, "ddp_late_rank").charts[1]
    assert own.caption == "Own time by rank and step: pale is 5.39 ms, full colour 9.54 ms"
    calm = pl.DataFrame({"own_s": [1.0, 1.01], "wait_s": [1e-6, None]})
    assert step_map._scales(calm) == ((1.0, 1.1), (0.0, 0.1))


def test_one_step_shows_kernels_copies_and_ranges(store: Store) -> None:
    (chart,) = shown(store, step_marks, "ddp_late_rank").charts
    rows = drawn(chart)
    assert {row["kind"] for row in rows} == set(step_marks.KINDS)
    assert "iteration 2" in {row["text"] for row in rows}
    assert len({row["lane"] for row in rows}) == 4 * 6


def test_the_index_shows_what_the_pages_say(store: Store, output: Path) -> None:
    rows = {row["run_id"]: row for row in index.rows(store, output, page_name)}
    assert sorted(rows) == sorted(RUNS)
    late = rows["ddp_late_rank"]
    assert (late["kind"], late["wall"], late["gpu_count"]) == ("wall", "waiting", 4)
    assert late["day"] == "2026-03-02" and late["series"]
    assert rows["cpu_only"]["cost_share"] is None


def test_what_the_verdict_rests_on_is_said_whatever_it_is(store: Store) -> None:
    told = shown(store, verdict, "ddp_late_rank").verdict
    assert told is not None
    assert told.trust[:2] == ("4 of 4 ranks", "6 steps")
    assert re.fullmatch(r"clocks within \d\S* [nu]s", told.trust[2])
    other = shown(store, verdict, "throttled_gpu").verdict
    assert other is not None
    assert other.trust == (
        "telemetry of 100.0 % of the time",
        "4 files",
        "2 not whole",
        "2 warnings",
    )


def test_a_run_without_a_page_has_no_verdict(store: Store, tmp_path: Path) -> None:
    rows = index.rows(store, tmp_path, page_name)
    assert {row["kind"] for row in rows} == {None} and {row["page"] for row in rows} == {""}
    assert "(no page)" in page.index_page(rows)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>",
        f'<meta name="{page.RECORD}" content="{{">',
        f'<meta name="{page.RECORD}" content="1">',
    ],
)
def test_a_page_that_says_nothing_of_its_run(text: str) -> None:
    assert page.record_of(text) == {}


def test_clocks_and_power_lie_under_the_activity(store: Store) -> None:
    charts = {chart.name: chart for chart in shown(store, conditions, "throttled_gpu").charts}
    rows = drawn(charts["conditions_sm_clock_hz"])
    assert float(rows[0]["start_s"]) == 0
    assert min(float(row["min_value"]) for row in rows) < float(rows[0]["median_value"])
    assert "dcgmi dmon" in shown(store, conditions, "cpu_only").empty


def test_wide_tables_leave_out_columns_without_values() -> None:
    names = tuple(f"c{i}" for i in range(10))
    rows = ((1,) * 9 + (None,), (None,) * 10)
    wide = Table("t", "T", Source("v", "SELECT"), names, rows, 2, {})
    assert page._drawn_columns(wide) == [*names[:9]]
    narrow = Table("t", "T", Source("v", "SELECT"), ("a", "b"), ((1, None),), 1, {})
    assert page._drawn_columns(narrow) == ["a", "b"]
