"""Sections to HTML: escaping, formatting through ``units`` and the template; no numbers of its own.

Names in a trace are hostile text: the template escapes everything, JSON islands escape the
characters that could end their script element, and the page's policy forbids any request.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline import __version__, catalog, units
from pipeline.report.section import Figure, Section, Table

_ASSETS = Path(__file__).parent / "assets"
_UNIT = re.compile(r"_(ns|hz)$")
# Longer texts are cut by the page's style and shown whole on request.
_LONG = 56
# Columns of a table beyond which a screen has no room for those that hold nothing.
_WIDE = 9
# Where a page's head holds what the index of runs shows of it.
RECORD = "tracelake-verdict"
_WORDS = {"bytes_per_s": "bandwidth", "start_utc_ns": "start"}


def run_page(run: str, sections: Sequence[Section], overrides: Mapping[str, float]) -> str:
    """The whole page of one run."""
    from pipeline.report import charts

    return (
        _environment()
        .get_template("run.html")
        .render(
            run=run,
            sections=sections,
            overrides=overrides,
            command=lambda view: _command(view, run, overrides),
            sql_command=lambda sql: _sql_command(sql, run, overrides),
            place_of=_places(sections).get,
            verdict=next((one.verdict for one in sections if one.verdict), None),
            has_charts=any(section.charts for section in sections),
            config=charts.CONFIG,
        )
    )


def _places(sections: Sequence[Section]) -> dict[str, Section]:
    """The section in which each view is drawn: the first that draws it."""
    places: dict[str, Section] = {}
    for section in sections:
        sources = [chart.source for chart in section.charts]
        sources += [table.source for table in section.tables]
        for source in sources:
            places.setdefault(source.view, section)
    return places


def index_page(rows: Sequence[Mapping[str, object]]) -> str:
    """The page that lists the runs: what the store holds of each, and what its page says."""
    return _environment().get_template("index.html").render(rows=rows)


def record_of(text: str) -> dict[str, Any]:
    """What a page says of its run, from the page's head; empty where it says nothing."""
    found = re.search(rf'<meta name="{RECORD}" content="([^"]*)">', text)
    try:
        record = json.loads(html.unescape(found[1])) if found else {}
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def history_page(series: Sequence[Mapping[str, object]], width: int, height: int) -> str:
    """The page of every series' history."""
    template = _environment().get_template("history.html")
    return template.render(series=series, width=width, height=height)


def night_page(**told: object) -> str:
    """The page of one night's verdicts."""
    return _environment().get_template("night.html").render(**told)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        version=__version__,
        asset=_asset,
        vega=_vega,
        show=units.show,
        show_figure=_show_figure,
        show_cell=_show_cell,
        is_number=_is_number,
        is_long=lambda text: len(text) > _LONG,
        label=_label,
        column_doc=_column_doc,
        drawn_columns=_drawn_columns,
        bar_width=_bar_width,
        sort_key=_sort_key,
        island=_island,
        json_text=lambda value: json.dumps(value, sort_keys=True),
        record_name=RECORD,
        href=quote,
    )
    return environment


def _asset(name: str) -> Markup:
    return Markup((_ASSETS / name).read_text(encoding="utf-8"))


@cache
def _vega() -> Markup:
    """Vega and Vega-Lite as JavaScript, for a script element."""
    import vl_convert

    # The stub demands a snippet; without one the bundle sets window.vegaEmbed.
    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return Markup(re.sub(r"<(?=/script|!--|script)", r"\\x3c", bundle, flags=re.IGNORECASE))


def _island(value: object) -> Markup:
    """JSON that no HTML parser takes for markup."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _command(view: str, run: str, overrides: Mapping[str, float]) -> str:
    return _run_command(["query", view], run, overrides)


def _sql_command(sql: str, run: str, overrides: Mapping[str, float]) -> str:
    return _run_command(["sql", sql.replace("\n", " ")], run, overrides)


def _run_command(what: list[str], run: str, overrides: Mapping[str, float]) -> str:
    words = ["tracelake", *what, "--run", run]
    for name, value in sorted(overrides.items()):
        words += ["--set", f"{name}={value:.15g}"]
    return shlex.join(words)


def _label(column: str) -> str:
    """A column's name as a heading: its unit stands in the cells."""
    for name, words in _WORDS.items():
        column = column.replace(name, words)
    return _UNIT.sub("", column).replace("_", " ")


def _column_doc(view: str, column: str) -> str:
    """What the view's header, or the table's schema, says of the column."""
    known = catalog.queries().get(view) or catalog.tables().get(view)
    docs = {entry.name: entry.doc for entry in known.columns} if known else {}
    for name in (column, re.sub(r"^(lowest|highest)_", "", column)):
        if name in docs:
            return f"{column}: {docs[name]}"
    return column


def _show_figure(figure: Figure, value: object) -> str:
    text = units.show(figure.column, value)
    return text if figure.of is None else f"{text} of {units.show(figure.column, figure.of)}"


def _show_cell(table: Table, row: Sequence[object], column: str) -> str:
    """A cell's text; a counter's value has the unit that its metric's name ends in."""
    value = row[table.columns.index(column)]
    if column.endswith("_value"):
        for named in ("metric", "measure", "property"):
            if named in table.columns:
                column = str(row[table.columns.index(named)])
    return units.show(column, value)


def _is_number(table: Table, column: str) -> bool:
    place = table.columns.index(column)
    return not any(isinstance(row[place], str) for row in table.rows)


def _drawn_columns(table: Table) -> list[str]:
    """What is drawn: of a wide table no column without any value, which only hides the others."""
    drawn = [column for column in table.columns if column != "bar_share"]
    if len(drawn) <= _WIDE:
        return drawn
    held = {
        table.columns[i] for row in table.rows for i, cell in enumerate(row) if cell is not None
    }
    return [column for column in drawn if column in held]


def _bar_width(table: Table, row: Sequence[object], column: str) -> str:
    """Length of the bar behind a cell as CSS, empty for none."""
    if column not in table.bars:
        return ""
    share = row[table.columns.index(table.bars[column])]
    return f"{share:.2%}" if isinstance(share, int | float) else ""


def _sort_key(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
