"""HTML pages: one per run and an index. Each holds all it needs and opens without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from pipeline import __version__, catalog
from pipeline.errors import UserError
from pipeline.report import (
    activity,
    communication,
    copies,
    counters,
    gaps,
    headline,
    host,
    kernels,
    source,
    time_split,
)
from pipeline.report.section import Section, table

if TYPE_CHECKING:
    import duckdb

    from pipeline.store import Store

# In the order of the page.
SECTIONS: tuple[Callable[[duckdb.DuckDBPyConnection], Section], ...] = (
    time_split.section,
    activity.section,
    communication.section,
    gaps.section,
    kernels.section,
    copies.section,
    host.api_section,
    host.nvtx_section,
    counters.section,
    source.issues_section,
    source.files_section,
    source.thresholds_section,
)
# Costly views that several places of a page read: evaluated once for it.
_ONCE = ("nccl_time_share", "kernel_gap_summary", "top_kernel", "gpu_activity")
_INDEX = "SELECT * FROM run_summary ORDER BY start_utc_ns DESC, run_id"


def write_report(
    store: Store,
    runs: Sequence[str] | None,
    output: Path,
    thresholds: Mapping[str, float] | None = None,
) -> list[Path]:
    """Writes a page for each of ``runs`` (None: all) and ``index.html``; the pages' paths.

    Pages of the same store, thresholds and version are the same to the byte. Raises
    :class:`UserError` for an unknown run or threshold and when a file cannot be written.
    """
    pages = []
    for run in runs if runs is not None else store.runs():
        connection = store.connect(thresholds, runs=[run])
        pages.append(_write(output / _file_name(run), run_page(connection, run)))
        connection.close()
    connection = store.connect(thresholds)
    _write(output / "index.html", index_page(connection, output))
    connection.close()
    return pages


def run_page(connection: duckdb.DuckDBPyConnection, run: str) -> str:
    """The page of the one run that ``connection`` is opened on."""
    connection.execute("CREATE SCHEMA page")
    for view in _ONCE:
        connection.execute(f"CREATE TABLE page.{view} AS FROM main.{view}")
    sections = [make(connection) for make in SECTIONS]
    has_charts = any(section.charts for section in sections)
    return _template("run.html.j2").render(
        run=run,
        version=__version__,
        headlines=headline.headlines(connection),
        trust=headline.trust_line(connection),
        sections=sections,
        sql_of=_sql_of,
        command_of=lambda view: f"tracelake query {view} --run {_shell_word(run)}",
        vega=_vega() if has_charts else "",
    )


def index_page(connection: duckdb.DuckDBPyConnection, output: Path) -> str:
    """The list of runs; a run links to its page where that has been written."""
    rows = table(connection, _INDEX, "Runs", most=100_000)
    names = [str(row[0]) for row in rows.rows]
    links = [quote(_file_name(n)) if (output / _file_name(n)).exists() else "" for n in names]
    return _template("index.html.j2").render(
        version=__version__, table=rows, links=links, sql_of=_sql_of
    )


def _file_name(run: str) -> str:
    """A file name for the run's page: readable where possible, never a path, never the index."""
    return f"run-{quote(run, safe=' ')[:200]}.html"


def _sql_of(view: str) -> str:
    query = catalog.queries().get(view)
    return query.sql if query else ""


def _shell_word(word: str) -> str:
    import shlex

    return shlex.quote(word)


def _write(file: Path, text: str) -> Path:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(
            str(file), f"cannot be written: {error.strerror}", "name another folder with --output"
        ) from error
    return file


@cache
def _vega() -> Markup:
    """All of Vega and Vega-Lite as one script, so that the page needs no network."""
    import vl_convert

    # The stub demands a snippet; without one the bundle sets window.vegaEmbed.
    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return Markup(bundle.replace("</script", "<\\/script"))


def _script_json(value: object) -> Markup:
    """JSON inside a script element: no text in it can end the element or open a comment."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    for character, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, code)
    return Markup(text)


@cache
def _template(name: str) -> jinja2.Template:
    folder = Path(__file__).parent / "assets"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["script_json"] = _script_json
    environment.globals["asset"] = lambda file: Markup((folder / file).read_text(encoding="utf-8"))
    return environment.get_template(name)
