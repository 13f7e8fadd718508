"""The pages: what they show, that hostile names stay text, and that a real browser draws them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pytest

from pipeline.ingest import ingest
from pipeline.report import SECTIONS, run_page, write_report
from pipeline.report.section import Section, Table
from pipeline.store import Store

SAMPLES = Path(__file__).parents[2] / "sample_traces"
RUNS = ("ddp_late_rank", "cuda_graph", "cpu_only", "gpu_metrics")


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store.create(tmp_path_factory.mktemp("pages") / "store")
    for run in RUNS:
        ingest([SAMPLES / run], store, jobs=1)
    return store


@pytest.fixture(scope="session")
def pages(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("report")
    write_report(store, None, output)
    return output


def sections(store: Store, run: str) -> dict[str, Section]:
    connection = store.connect(runs=[run])
    run_page(connection, run)  # makes the page's own tables
    return {made.key: made for made in (section(connection) for section in SECTIONS)}


class Parsed(HTMLParser):
    """Visible text, ids, and the charts' JSON of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.ids: list[str] = []
        self.charts: list[dict[str, object]] = []
        self.fetched: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._inside = "chart" if "data-chart" in attributes else tag
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.fetched += [value for name, value in attrs if name == "src" and value]
        if tag == "link":
            self.fetched.append(attributes.get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "chart":
            self.charts.append(json.loads(data))
        elif self._inside not in ("script", "style"):
            self.text.append(data)


def test_each_device_splits_to_one(store: Store) -> None:
    connection = store.connect(runs=["ddp_late_rank"])
    run_page(connection, "ddp_late_rank")
    from pipeline.report.time_split import _SPLIT

    sums = connection.execute(f"SELECT sum(share) FROM ({_SPLIT}) GROUP BY device").fetchall()
    assert [round(total, 9) for (total,) in sums] == [1.0] * 4


def test_a_cpu_only_run_says_so_and_what_to_collect(store: Store, pages: Path) -> None:
    assert "No GPU activity was captured" in (pages / "run-cpu_only.html").read_text()
    found = sections(store, "cpu_only")
    assert found["time-split"].tables == []
    assert "nsys profile --trace=cuda" in found["time-split"].empty


def test_graph_time_is_declared(store: Store) -> None:
    assert "may hold communication" in " ".join(sections(store, "cuda_graph")["time-split"].notes)
    assert sections(store, "ddp_late_rank")["time-split"].notes == []


def test_what_was_doubtful_is_on_the_page(store: Store) -> None:
    (issues,) = sections(store, "cpu_only")["issues"].tables
    assert "no GPU activity was captured" in [row[2] for row in issues.rows]


def test_hostile_kernel_names_stay_text(pages: Path) -> None:
    page = (pages / "run-ddp_late_rank.html").read_text()
    hostile = "</script><b>&amp;"
    assert hostile not in page
    assert hostile in "".join(Parsed(page).text)


def test_charts_are_json_without_any_way_out_of_their_element(pages: Path) -> None:
    charts = Parsed((pages / "run-ddp_late_rank.html").read_text()).charts
    assert len(charts) >= 6
    assert all("vega-lite" in str(chart["$schema"]) for chart in charts)


def test_ids_are_unique_and_nothing_is_fetched(pages: Path) -> None:
    for file in pages.glob("*.html"):
        page = Parsed(file.read_text())
        assert len(page.ids) == len(set(page.ids)), file.name
        assert set(page.fetched) <= {"data:,"}, file.name


def test_pages_are_the_same_to_the_byte(store: Store, pages: Path, tmp_path: Path) -> None:
    write_report(store, ["ddp_late_rank"], tmp_path)
    name = "run-ddp_late_rank.html"
    assert (tmp_path / name).read_bytes() == (pages / name).read_bytes()


def test_pages_are_light(pages: Path) -> None:
    assert all(file.stat().st_size < 1_500_000 for file in pages.glob("*.html"))


def test_the_index_links_every_page(pages: Path) -> None:
    links = re.findall(r'href="(run-[^"]+)"', (pages / "index.html").read_text())
    assert sorted(links) == sorted(file.name for file in pages.glob("run-*.html"))


def test_a_run_named_like_a_path_or_markup_is_harmless(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    run = '../<b>"x"&'
    ingest([SAMPLES / "cpu_only" / "rank0.sqlite.xz"], store, run=run, jobs=1)
    (page,) = write_report(store, None, tmp_path)
    assert page.parent == tmp_path
    assert run in "".join(Parsed(page.read_text()).text)
    assert "<b>" not in page.read_text()
    assert page.name in (tmp_path / "index.html").read_text().replace("%25", "%")


def test_a_long_table_is_cut_and_says_where_the_rest_is() -> None:
    from pipeline.report.section import table

    cut = table(duckdb.connect(), "FROM range(50)", most=40)
    assert (len(cut.rows), cut.total) == (40, 50)


def test_cells_are_scaled_by_their_columns_unit() -> None:
    shown = Table(["dur_ns", "busy_share", "rank"], [(1_500, 0.25, None)], 1)
    assert shown.cells() == [["1.50 us", "25.0 %", "–"]]
    assert shown.headings() == ["dur", "busy share", "rank"]


def _browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    if os.environ.get("CI"):
        pytest.fail("no Chromium: install Debian's package chromium")
    pytest.skip("no Chromium")


def _dom(page: Path, profile: Path) -> str:
    options = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
        "--disable-background-networking --disable-component-update --disable-sync "
        "--virtual-time-budget=20000 --window-size=1400,900"
    )
    command = [_browser(), *options.split(), f"--user-data-dir={profile}", "--dump-dom"]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


@pytest.mark.browser
@pytest.mark.parametrize("run", ["ddp_late_rank", "cuda_graph", "gpu_metrics"])
def test_a_real_browser_draws_every_chart(pages: Path, tmp_path: Path, run: str) -> None:
    dom = _dom(pages / f"run-{run}.html", tmp_path)
    holders = re.findall(r'<div class="chart[^>]*>', dom)
    assert holders
    assert all('data-drawn="yes"' in holder for holder in holders)
    assert dom.count("<svg") >= len(holders)
    assert not re.search(r"<body[^>]* data-error=", dom)
