"""The command line: parse, call one function, print.

Exit codes: 0 good, 1 findings or a regression, 2 bad input or usage. Results go to stdout,
everything said about them to stderr. Modules that a command does not need are not imported.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline import __version__, catalog, units
from pipeline.cli_options import Command, run_option, set_option, store_option
from pipeline.errors import UserError
from pipeline.history.commands import compare, nightly, regress

if TYPE_CHECKING:
    import duckdb

    from pipeline.ingest import Outcome, OutcomeKind, Summary
    from pipeline.readers.record import Issue
    from pipeline.store import Store

FORMATS = ("table", "csv", "json", "parquet")

Render = Callable[[Sequence[str], Sequence[Sequence[object]]], str]


class _Group(click.Group):
    """Shows a known fault as one line with exit code 2; an unknown one keeps its traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            click.echo(f"tracelake: {error}", err=True)
            ctx.exit(2)
        except BrokenPipeError:  # the reader of a pipe had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)


def output_options(command: Command) -> Command:
    command = click.option(
        "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file."
    )(command)
    return click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="table scales numbers for people; the others keep base units.",
    )(command)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tracelake")
def main() -> None:
    """Offline trace analysis for large-model training jobs.

    \b
    Example:
      tracelake ingest archive/ && tracelake report --output report/
    """


for command in (compare, nightly, regress):
    main.add_command(command)


# -- ingest --------------------------------------------------------------------------------


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@store_option
@click.option("--run", metavar="NAME", help="Put everything into this one run.")
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Workers.  [default: one per core]"
)
@click.option("--host", metavar="NAME", help="Host of files that don't say it (dmon text).")
@click.option(
    "--interval",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Sampling interval of files without a clock (dmon text).",
)
def ingest(
    paths: tuple[Path, ...],
    store_path: Path,
    run: str | None,
    jobs: int | None,
    host: str | None,
    interval: float | None,
) -> None:
    """Read traces under PATHS into the store.

    Each folder directly under a PATH that holds traces is one run; a PATH whose traces lie
    directly in it is itself one run. Compressed files and archives (.gz .xz .zst .tar* .zip)
    are read as they are. A file already stored is left alone, a changed one is replaced.

    \b
    Example:
      tracelake ingest sample_traces --store demo/store
    """
    from pipeline.ingest import ingest as ingest_paths
    from pipeline.readers.record import Hints
    from pipeline.store import Store

    if run is not None and (not run or run in (".", "..")):
        raise UserError("--run", f"{run!r} cannot name a run", "choose another name")
    hints = Hints(host, None if interval is None else round(interval * 1e9))
    store = Store.create(store_path)
    with _Progress(paths) as progress:
        summary = ingest_paths(paths, store, run, jobs, progress.outcome, hints)
    _say_summary(summary, store_path)
    if summary.count("refused"):
        sys.exit(2)


class _Progress:
    """Faults as they come and, on a terminal, a bar of the bytes dealt with so far."""

    WIDTH = 30

    def __init__(self, paths: Sequence[Path]) -> None:
        from pipeline.archive import total_bytes

        self.is_terminal = sys.stderr.isatty()
        self.total = sum(map(total_bytes, paths)) if self.is_terminal else 0
        self.done_bytes = 0
        self.done_files = 0

    def __enter__(self) -> _Progress:
        self._draw("")
        return self

    def outcome(self, outcome: Outcome) -> None:
        self.done_files += 1
        self.done_bytes += outcome.size_bytes
        self._clear()
        if outcome.fault is not None:
            click.echo(f"tracelake: {outcome.fault}", err=True)
        if outcome.kind == "duplicate":
            click.echo(f"{outcome.shown}: skipped: {outcome.detail}", err=True)
        for issue in outcome.issues:
            if issue.severity == "warning":
                place = f"{outcome.shown}: {issue.place}" if issue.place else outcome.shown
                problem = issue.problem + _more(issue)
                click.echo(f"{UserError(place, problem, issue.way_out)}", err=True)
        self._draw(outcome.name)

    def _draw(self, name: str) -> None:
        if self.is_terminal:
            # Members of an archive are larger than their part of it: never beyond the end.
            part = min(1.0, self.done_bytes / self.total) if self.total else 0.0
            bar = ("#" * round(part * self.WIDTH)).ljust(self.WIDTH, "-")
            text = f"[{bar}] {part:4.0%}  {_plural(self.done_files, 'file')}  {name[-40:]}"
            click.echo(f"\r{text}", nl=False, err=True)

    def _clear(self) -> None:
        if self.is_terminal:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __exit__(self, *_: object) -> None:
        self._clear()


def _more(issue: Issue) -> str:
    """How often an issue was met, beyond the one that is shown."""
    if issue.row_count is None or issue.row_count < 2:
        return ""
    if issue.place.startswith("line "):
        return f" (and {units.count(issue.row_count - 1)} more)"
    return f" ({units.count(issue.row_count)} times)"


def _say_summary(summary: Summary, store_path: Path) -> None:
    words: tuple[tuple[OutcomeKind, str], ...] = (
        ("stored", "stored"),
        ("replaced", "replaced"),
        ("unchanged", "unchanged"),
        ("duplicate", "duplicates"),
        ("refused", "refused"),
        ("ignored", "not traces"),
    )
    counted = [
        f"{units.count(number)} {word}" for kind, word in words if (number := summary.count(kind))
    ]
    runs = summary.runs
    rows = f", {units.count(summary.rows)} rows" if summary.rows else ""
    click.echo(f"{', '.join(counted)}{rows}; {_plural(len(runs), 'run')} in {store_path}", err=True)


def _plural(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


# -- looking things up ---------------------------------------------------------------------


@main.command()
@store_option
@output_options
def runs(store_path: Path, format_: str, output: Path | None) -> None:
    """List the runs of the store.

    \b
    Example:
      tracelake runs --store demo/store
    """
    connection = _open(store_path).connect(asked=["run_summary"])
    _show(connection, "FROM run_summary", format_, output)


@main.command()
def views() -> None:
    """List everything that can be queried: stored tables, views, reference tables.

    \b
    Example:
      tracelake views
    """
    entries = [(q.layer, q.name, q.doc.split(". ")[0]) for q in catalog.queries().values()]
    entries += [("table", t.name, t.doc.split("; ")[0]) for t in catalog.tables().values()]
    entries += [("reference", name, "") for name in catalog.reference()]
    order = ("findings", "metrics", "timeline", "staging", "table", "reference")
    entries.sort(key=lambda entry: (order.index(entry[0]), entry[1]))
    width = max(len(name) for _, name, _ in entries)
    layer = ""
    for kind, name, doc in entries:
        if kind != layer:
            click.echo(f"{kind}:")
            layer = kind
        click.echo(f"  {name.ljust(width)}  {doc.rstrip('.')}".rstrip())


@main.command()
@click.argument("name")
def describe(name: str) -> None:
    """Say what a table or view holds, column by column.

    \b
    Example:
      tracelake describe nccl_time_share
    """
    query, table = catalog.queries().get(name), catalog.tables().get(name)
    if query:
        click.echo(query.doc)
        grain = [f"Grain: {query.grain}."] if query.grain else []
        better = [f"Better: {query.better}."] if query.better else []
        click.echo("\n".join(grain + better) + "\n")
        columns = query.columns
    elif table:
        click.echo(f"{table.doc}\n")
        columns = table.columns
    elif name in catalog.reference():
        click.echo(catalog.reference()[name].read_text(encoding="utf-8").rstrip())
        return
    else:
        raise _unknown_view(name)
    width = max(len(column.name) for column in columns)
    for column in columns:
        click.echo(f"{column.name.ljust(width)}  {column.doc}")


def _unknown_view(name: str) -> UserError:
    import difflib

    known = [*catalog.queries(), *catalog.tables(), *catalog.reference()]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else "see 'tracelake views'"
    return UserError(f"view {name}", "no such view or table", hint)


# -- asking --------------------------------------------------------------------------------


@main.command()
@click.argument("view")
@store_option
@run_option("Only this run; may be repeated.")
@set_option
@output_options
def query(
    view: str,
    store_path: Path,
    runs: tuple[str, ...],
    thresholds: dict[str, float],
    format_: str,
    output: Path | None,
) -> None:
    """Print a view or table.

    \b
    Example:
      tracelake query nccl_time_share --store demo/store --run ddp_late_rank
    """
    if view not in {*catalog.queries(), *catalog.tables(), *catalog.reference()}:
        raise _unknown_view(view)
    connection = _open(store_path).connect(thresholds, runs or None, asked=[view, "ingest_issue"])
    _show(connection, f"FROM {view}", format_, output)
    _say_why_empty(connection, view)


def _say_why_empty(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    """No rows is an answer only with its reason: what the files of the runs in sight lack."""
    if connection.execute(f"SELECT count(*) FROM (FROM {view} LIMIT 1)").fetchall() != [(0,)]:
        return
    reasons = connection.execute(
        "SELECT run_id || ': ' || place, problem, way_out FROM ingest_issue "
        "WHERE severity = 'error' OR problem LIKE 'no %' ORDER BY ALL"
    ).fetchall()
    click.echo(f"{view}: no rows", err=True)
    for reason in reasons:
        click.echo(str(UserError(*reason)), err=True)


@main.command()
@click.argument("statement", required=False)
@click.option(
    "--file", "file", type=click.Path(path_type=Path, dir_okay=False), help="Read it from a file."
)
@store_option
@run_option("Only this run; may be repeated.")
@set_option
@output_options
def sql(
    statement: str | None,
    file: Path | None,
    store_path: Path,
    runs: tuple[str, ...],
    thresholds: dict[str, float],
    format_: str,
    output: Path | None,
) -> None:
    """Run a SELECT of your own over the store's views; from stdin when none is given.

    \b
    Example:
      tracelake sql --store demo/store "SELECT kind, sum(bytes) FROM memory_copy GROUP BY kind"
    """
    if statement and file:
        raise UserError("--file", "a statement is given as well", "give one of the two")
    if file:
        try:
            statement = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(str(file), f"cannot be read: {error}", "check the path") from error
    elif statement is None:
        statement = sys.stdin.read()
    asked = None if _OF_THE_CATALOG.search(statement) else catalog.named_in(statement)
    connection = _open(store_path).connect(thresholds, runs or None, asked=asked or None)
    _only_reads(connection, statement)
    _show(connection, statement, format_, output)


# Such a statement lists tables and views: all of them must be there.
_OF_THE_CATALOG = re.compile(r"\b(duckdb_|information_schema|pg_|sqlite_|show\b)", re.IGNORECASE)


def _only_reads(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    import duckdb

    try:
        statements = connection.extract_statements(statement)
    except duckdb.Error as error:
        raise UserError("sql", _first_lines(error), "correct the statement") from error
    if len(statements) != 1:
        problem = f"{len(statements)} statements where one SELECT is expected"
        raise UserError("sql", problem, "give one")
    kind = statements[0].type
    # EXPLAIN ANALYZE would execute what it explains.
    is_analyze = re.search(r"\banalyze\b", statement, re.IGNORECASE)
    is_explain = kind == duckdb.StatementType.EXPLAIN and not is_analyze
    if kind != duckdb.StatementType.SELECT and not is_explain:
        raise _not_allowed(kind.name)
    if kind == duckdb.StatementType.SELECT:
        # A WITH clause may hold an INSERT or a COPY, but only at the top of a statement.
        inner = statements[0].query.strip().rstrip(";")
        try:
            connection.execute(f"EXPLAIN FROM (\n{inner}\n)").fetchall()
        except duckdb.Error as error:
            if "must be at the top level" in str(error):
                raise _not_allowed("writing in a WITH clause") from error
            if unknown := re.match(r"Catalog Error: Table with name (\w+) does not", str(error)):
                raise _unknown_view(unknown[1]) from error
            raise UserError("sql", _first_lines(error), "correct the statement") from error


def _not_allowed(what: str) -> UserError:
    problem = f"{what} is not allowed: the store is only read"
    return UserError("sql", problem, "use SELECT; 'tracelake database' makes a file to work in")


def _first_lines(error: Exception) -> str:
    return str(error).split("\n\n")[0]


@main.command()
@store_option
@click.option(
    "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="File to make."
)
@set_option
def database(store_path: Path, output: Path, thresholds: dict[str, float]) -> None:
    """Make a DuckDB file with every view over the store, for any DuckDB client.

    The file holds views, not data: it reads the store where it lies.

    \b
    Example:
      tracelake database --store demo/store --output demo/tracelake.duckdb
    """
    if output.exists():
        raise UserError(str(output), "exists already", "remove it or name another file")
    _made_folder(output.parent)
    _open(store_path).connect(thresholds, database=str(output)).close()
    click.echo(f"wrote {output}", err=True)


@main.command()
@click.argument("run")
@store_option
@set_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="json keeps base units.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("none", "fault", "wall")),
    default="wall",
    show_default=True,
    help="Exit with 1 on faulty hardware, on that or a wall, or never.",
)
def diagnose(
    run: str, store_path: Path, thresholds: dict[str, float], format_: str, fail_on: str
) -> None:
    """Say which wall holds RUN back, what it costs, how sure that is, and what to do.

    \b
    Example:
      tracelake diagnose ddp_late_rank --store demo/store
    """
    import shutil

    from pipeline import diagnose as diagnosing

    connection = _open(store_path).connect(thresholds, [run], asked=diagnosing.VIEWS)
    diagnosis = diagnosing.diagnose(connection, run)
    if format_ == "json":
        click.echo(_json_text(diagnosing.as_record(diagnosis)))
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        paint = {"paint": _painted} if is_coloured else {}
        click.echo(diagnosing.as_text(diagnosis, width, **paint))
    failing = {"none": (), "fault": ("fault",), "wall": ("fault", "wall")}[fail_on]
    if diagnosis.kind in failing:
        sys.exit(1)


_COLOURS = {
    **dict.fromkeys(("fault", "wall"), "red"),
    **dict.fromkeys(("warning", "open", "cannot tell"), "yellow"),
    "info": "cyan",
    "no wall found": "green",
}


def _painted(kind: str, text: str) -> str:
    colour = _COLOURS.get(kind)
    return click.style(text, fg=colour, bold=kind in ("fault", "wall")) if colour else text


@main.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@store_option
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the pages.",
)
@set_option
def report(
    runs: tuple[str, ...], store_path: Path, output: Path, thresholds: dict[str, float]
) -> None:
    """Write one HTML page per RUN (default: every run) and an index.

    The pages hold everything they need and open without a network.

    \b
    Example:
      tracelake report ddp_late_rank --store demo/store --output demo/report
    """
    from pipeline.report import write_report

    store = _open(store_path)
    _made_folder(output)
    pages = write_report(store, list(runs) or None, output, thresholds)
    click.echo(f"wrote {_plural(len(pages), 'page')} and {output / 'index.html'}", err=True)


def _made_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            str(folder), f"cannot be made: {error.strerror}", "name another with --output"
        ) from error


def _open(path: Path) -> Store:
    from pipeline.store import Store

    return Store.open(path)


# -- printing ------------------------------------------------------------------------------


def _show(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    format_: str,
    output: Path | None,
) -> None:
    """Prints the result of a statement, or writes it to ``output``."""
    import duckdb

    if format_ == "parquet" and output is None:
        raise UserError("--format parquet", "needs a file to write", "add --output FILE")
    try:
        if format_ == "parquet" and output is not None:
            import pyarrow.parquet as pq

            with _writing(output):
                pq.write_table(connection.sql(statement).to_arrow_table(), output)
            return
        result = connection.execute(statement)
        columns = [name for name, *_ in result.description or []]
        rows = result.fetchall()
    except duckdb.Error as error:
        raise UserError("sql", _first_lines(error), "correct the statement") from error
    renderers: dict[str, Render] = {"table": units.table, "csv": _csv, "json": _json}
    text = renderers[format_](columns, rows)
    if output is None:
        click.echo(text)
        return
    with _writing(output):
        output.write_text(text + "\n", encoding="utf-8")


@contextmanager
def _writing(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"cannot be written: {os.strerror(error.errno) if error.errno else error}"
        raise UserError(str(output), problem, "name another file with --output") from error


def _csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    import csv
    import io

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(
            [_json_text(cell) if isinstance(cell, list | dict) else cell for cell in row]
        )
    return buffer.getvalue().rstrip("\n")


def _json(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    objects = (_json_text(dict(zip(columns, row, strict=True))) for row in rows)
    return "[" + ",\n ".join(objects) + "]"


def _json_text(value: object) -> str:
    import json

    return json.dumps(_finite(value), default=_plain)


def _finite(value: object) -> object:
    """NaN and the infinities are no JSON: they become null, inside lists and structs too."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value


def _plain(value: object) -> object:
    """Values that JSON has no type for: decimals and dates."""
    from decimal import Decimal

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
