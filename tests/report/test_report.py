"""The pages: what they show, that hostile names stay text, and that a real browser draws them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pytest
from pages import RUNS, SAMPLES

from pipeline.ingest import ingest
from pipeline.report import SECTIONS, page_name, sections, views, write_report
from pipeline.report.section import Section
from pipeline.store import Store

EMPTY_WITHOUT_GPU = {
    "time_split", "nccl_share", "activity", "gaps", "top_kernels", "collectives", "copies",
    "steps",
    "ranks",
    "gap_causes",
    "roofline",
    "utilisation",
    "counters",
    "bandwidth",
    "benchmarks",
    "hardware",
    "conditions",
    "step_map",
    "step_marks",
    "memory",
    "history",
}  # fmt: skip


def opened(store: Store, run: str) -> duckdb.DuckDBPyConnection:
    return store.connect(runs=[run], asked=[], kept=views())


_MADE: dict[tuple[Path, str], dict[str, Section]] = {}


def made(store: Store, run: str) -> dict[str, Section]:
    if (store.root, run) not in _MADE:
        found = sections(opened(store, run))
        _MADE[store.root, run] = {section.name: section for section in found}
    return _MADE[store.root, run]


class Page(HTMLParser):
    """Tags, JSON islands and duplicate-free ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.islands: list[str] = []
        self.is_island = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.is_island = dict(attrs).get("type") == "application/json"

    def handle_data(self, data: str) -> None:
        if self.is_island:
            self.islands.append(data)

    def handle_endtag(self, tag: str) -> None:
        self.is_island = False

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def text_of(output: Path, run: str) -> str:
    return (output / page_name(run)).read_text(encoding="utf-8")


def test_parts_of_a_span_sum_to_it(store: Store) -> None:
    (chart,) = made(store, "ddp_late_rank")["time_split"].charts
    shares: dict[str, float] = {}
    for row in next(iter(chart.spec["datasets"].values())):
        shares[row["device"]] = shares.get(row["device"], 0) + row["part_share"]
    assert shares == pytest.approx({f"rank {rank}": 1.0 for rank in range(4)})


def test_headline_shows_the_median_between_the_extremes(store: Store) -> None:
    figures = {f.column: f for f in made(store, "ddp_late_rank")["headline"].figures}
    busy = figures["busy_share"]
    assert busy.lowest < busy.value <= busy.highest  # type: ignore[operator]
    assert (figures["rank_count"].value, figures["rank_count"].of) == (4, 4)


@pytest.mark.parametrize("run", RUNS)
def test_every_select_runs_without_the_report(store: Store, run: str) -> None:
    connection = opened(store, run)
    for section in made(store, run).values():
        for part in (*section.charts, *section.tables):
            connection.execute(part.source.sql)


def test_views_are_declared(store: Store) -> None:
    connection = opened(store, "gpu_metrics")
    for module in SECTIONS:
        section = module.section(connection)
        shown = {part.source.view for part in (*section.charts, *section.tables)}
        assert shown <= set(module.VIEWS), module.__name__


def test_without_gpu_activity_sections_say_what_to_collect(store: Store, output: Path) -> None:
    by_name = made(store, "cpu_only")
    assert {name for name, section in by_name.items() if section.empty} == EMPTY_WITHOUT_GPU
    assert all("capture" in by_name[name].empty for name in EMPTY_WITHOUT_GPU)
    text = text_of(output, "cpu_only")
    assert "No GPU activity was captured" in text and "vegaEmbed=" not in text


def test_graph_time_says_what_it_may_hide(store: Store) -> None:
    (note,) = made(store, "cuda_graph")["time_split"].notes
    assert "counted as compute and may hold communication" in note
    assert made(store, "ddp_late_rank")["time_split"].notes == ()


def test_hostile_names_stay_text(output: Path) -> None:
    text = text_of(output, "ddp_late_rank")
    assert "</script><b>" not in text and "&lt;/script&gt;&lt;b&gt;" in text
    page = Page(text)
    assert page.named("b") == []
    assert len(page.islands) == len([a for a in page.named("div") if "data-spec" in a]) + 1
    for island in page.islands:
        json.loads(island)


def test_hostile_run_name(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    name = "a'\"<b>&{{7*7}}"
    ingest([SAMPLES / "cpu_only"], store, name, jobs=1)
    write_report(store, None, tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert "<b>" not in file.read_text(encoding="utf-8")
    index = Page((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    (link,) = [attrs for attrs in index.named("a") if "class" not in attrs]
    assert (tmp_path / "out" / unquote(link["href"] or "")).exists()


def test_a_run_called_index_leaves_the_index_alone() -> None:
    assert page_name("index") != "index.html"
    assert page_name("../a") == "..%2Fa.html"


def test_same_store_same_bytes(store: Store, output: Path, tmp_path: Path) -> None:
    write_report(store, None, tmp_path)
    for file in output.iterdir():
        assert file.read_bytes() == (tmp_path / file.name).read_bytes(), file.name


@pytest.mark.parametrize("run", RUNS)
def test_page_is_small_whole_and_accessible(output: Path, run: str) -> None:
    text = text_of(output, run)
    assert len(text) < 1_500_000
    page = Page(text)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.named("th"))
    assert all(a.get("aria-label") for a in page.named("div") if a.get("role") == "img")
    assert {"main", "nav", "header", "footer"} <= {tag for tag, _ in page.tags}
    for _, attrs in page.tags:
        for name in ("src", "href", "data", "action"):
            assert not re.match(r"(https?:)?//", attrs.get(name) or "")
    assert "default-src 'none'" in text


def test_overrides_are_shown_and_in_every_command(store: Store, tmp_path: Path) -> None:
    write_report(store, ["ddp_late_rank"], tmp_path, {"kernel_gap_ns": 500000})
    text = text_of(tmp_path, "ddp_late_rank")
    assert "kernel_gap_ns = 500 000" in text
    assert "nccl_time_share --run ddp_late_rank --set kernel_gap_ns=500000" in text


def test_many_devices_are_sampled(store: Store) -> None:
    from pipeline.report import activity, time_split

    connection = store.connect(runs=["ddp_late_rank"])
    _multiply_devices(connection, 250)
    split, strips = time_split.section(connection), activity.section(connection)
    assert split.tables[0].row_count == 1000 and len(split.tables[0].rows) == 50
    assert [c.name for c in strips.charts[2:]] == ["activity_busy_band", "activity_exposed_band"]
    assert sum(len(json.dumps(c.spec)) for c in (*split.charts, *strips.charts)) < 1_000_000
    assert "32 of 1000 devices" in strips.notes[0]


def _multiply_devices(connection: duckdb.DuckDBPyConnection, times: int) -> None:
    # Views read traced_device, so its stand-in comes last.
    for view in ("nccl_time_share", "gpu_activity", "traced_device"):
        connection.execute(
            f"CREATE TEMP TABLE {view} AS SELECT v.* REPLACE (v.device_id + 10 * n AS device_id) "
            f"FROM main.{view} AS v, range({times}) AS copies(n)"
        )
