"""The pages in a real browser: what is drawn, what the controls do, and that nothing is fetched."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Tab
from pages import RUNS

from pipeline.report import page_name

pytestmark = pytest.mark.browser

# Elements that carry data: not axes, not the ground of a plot, not legends.
MARKS = """[...document.querySelectorAll('.chart')].map((chart) => [chart.id, chart
    .querySelectorAll(['rect', 'symbol', 'line', 'area', 'rule', 'arc', 'text']
        .map((kind) => `.role-mark.mark-${kind} path, .role-mark.mark-${kind} line`)
        .join(', ')).length])"""


def page_of(output: Path, run: str) -> Path:
    return output / page_name(run)


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark")])
@pytest.mark.parametrize("run", RUNS)
def test_every_page_draws_without_faults(
    tab: Tab, output: Path, run: str, width: int, scheme: str
) -> None:
    page = page_of(output, run)
    tab.open(page, width=width, scheme=scheme)
    assert tab.errors == []
    assert tab.run("document.body.dataset.faults") is None
    fetched = [url for url in tab.requests if not url.startswith("data:")]
    assert fetched == [page.resolve().as_uri()]
    assert [name for name, count in tab.run(MARKS) if not count] == []
    # No sideways scrolling of the page; wide tables scroll in their own frame.
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("run", ["ddp_late_rank", "throttled_gpu"])
def test_a_narrow_screen_cuts_no_wall_and_no_legend(tab: Tab, output: Path, run: str) -> None:
    tab.open(page_of(output, run), width=400)
    told = "[...document.querySelectorAll('.walls tbody td, .role-legend text')]"
    assert tab.run(f"{told}.length") > 8
    beyond = "one.getBoundingClientRect().right > innerWidth"
    assert tab.run(f"{told}.filter((one) => {beyond}).map((one) => one.textContent)") == []


@pytest.mark.parametrize("width", [1400, 400])
def test_the_index_fits(tab: Tab, output: Path, width: int) -> None:
    tab.open(output / "index.html", width=width)
    assert tab.errors == []
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_names_stay_text(tab: Tab, output: Path) -> None:
    tab.open(page_of(output, "ddp_late_rank"))
    assert tab.run("document.body.textContent.includes('</script><b>')")
    assert tab.run("document.querySelectorAll('td b, th b, .chart b').length") == 0


def test_the_verdict_comes_first(tab: Tab, output: Path) -> None:
    tab.open(page_of(output, "ddp_late_rank"))
    assert tab.run("document.querySelector('section').id") == "verdict"
    top = tab.run("document.querySelector('.sentence').getBoundingClientRect().bottom")
    assert top < 400


def runs_shown(tab: Tab) -> list[str]:
    script = """[...document.querySelectorAll('tbody tr')].filter((row) => !row.hidden)
        .map((row) => row.cells[0].dataset.key)"""
    found: list[str] = tab.run(script)
    return found


def put(tab: Tab, field: str, value: str) -> None:
    tab.run(
        f"""(() => {{ const field = document.getElementById('{field}'); field.value = '{value}';
            field.dispatchEvent(new Event('input')); }})()"""
    )


def test_the_index_filters(tab: Tab, output: Path) -> None:
    tab.open(output / "index.html")
    assert runs_shown(tab) == sorted(RUNS)
    put(tab, "filter-verdict", "fault")
    assert runs_shown(tab) == ["throttled_gpu"]
    put(tab, "filter-verdict", "")
    put(tab, "filter", "late waiting")
    assert runs_shown(tab) == ["ddp_late_rank"]
    assert tab.run("document.getElementById('shown').textContent") == "1 of 5 runs"
    put(tab, "filter", "")
    put(tab, "filter-to", "2025-01-01")
    assert runs_shown(tab) == ["gpu_metrics"]  # the only one that is dated and so early
    put(tab, "filter-to", "")
    series = tab.run("document.querySelector('#filter-series option:last-child').textContent")
    put(tab, "filter-series", series)
    assert 0 < len(runs_shown(tab)) < len(RUNS)


def test_the_index_sorts(tab: Tab, output: Path) -> None:
    tab.open(output / "index.html")
    head = "thead th:nth-child(6)"  # cost
    tab.click(f"{head} button")
    assert runs_shown(tab)[0] == "ddp_late_rank"
    assert tab.run(f"document.querySelector('{head}').getAttribute('aria-sort')") == "descending"
    tab.click("thead th:first-child button")
    assert runs_shown(tab) == sorted(RUNS)


def test_the_theme_follows_the_system_until_it_is_chosen(tab: Tab, output: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    tab.open(page_of(output, "cpu_only"), scheme="light")
    light = tab.run(ground)
    tab.look(scheme="dark")
    dark = tab.run(ground)
    assert light != dark
    tab.click("#theme")
    assert tab.run(ground) == light
    tab.click("#theme")
    assert tab.run(ground) == dark


def test_one_step_zooms(tab: Tab, output: Path) -> None:
    tab.open(page_of(output, "ddp_late_rank"))
    buttons = "#step_marks .zoom button"
    assert tab.run(f"document.querySelectorAll('{buttons}').length") == 5
    domain = "JSON.parse(document.getElementById('chart-step_marks').dataset.domain)"

    def press(number: int) -> list[float]:
        tab.click(f"{buttons}:nth-of-type({number})")
        found: list[float] = tab.run(f"new Promise((done) => setTimeout(() => done({domain}), 60))")
        return found

    half = press(1)
    quarter = press(1)
    assert quarter[1] - quarter[0] == pytest.approx((half[1] - half[0]) / 2)
    later = press(4)
    assert later[0] > quarter[0]
    whole = press(5)
    assert whole[1] - whole[0] == pytest.approx(2 * (half[1] - half[0]))


def test_sql_and_commands_are_copied(tab: Tab, output: Path) -> None:
    tab.open(page_of(output, "ddp_late_rank"))
    tab.run(
        """Object.defineProperty(navigator, 'clipboard', { configurable: true, value: {
            writeText: async (text) => { window.copied = text; } } })"""
    )
    tab.click(".walls .source pre + .copier")
    assert "FROM straggler" in tab.run("window.copied")
    tab.click(".walls .command .copier")
    assert tab.run("window.copied").startswith("tracelake sql")
    # Where the browser refuses, the text is at least selected.
    tab.run("navigator.clipboard.writeText = async () => { throw new Error('no'); }")
    tab.run("document.querySelector('.walls .source').open = true")
    tab.click(".walls .source pre + .copier")
    selected = tab.run("new Promise((done) => setTimeout(() => done(String(getSelection())), 60))")
    assert "FROM straggler" in selected


def test_every_control_has_a_name_and_can_be_reached(tab: Tab, output: Path) -> None:
    tab.open(page_of(output, "ddp_late_rank"))
    nameless = """[...document.querySelectorAll('button, a[href], input, select')].filter((one) =>
        !one.hidden && !(one.textContent.trim() || one.getAttribute('aria-label'))).length"""
    assert tab.run(nameless) == 0
    assert tab.run("document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length") == 1


def test_paper_is_light_and_without_controls(tab: Tab, output: Path) -> None:
    tab.open(page_of(output, "ddp_late_rank"), scheme="dark")
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.run("getComputedStyle(document.getElementById('theme')).display") == "none"
    tab.call("Emulation.setEmulatedMedia", media="")
