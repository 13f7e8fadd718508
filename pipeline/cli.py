"""The command line: parse, call one function, print.

Exit codes: 0 good, 1 findings or a regression, 2 bad input or usage. Results go to stdout,
everything said about them to stderr. Modules that a command does not need are not imported.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from pipeline import __version__, catalog
from pipeline.cli_ask import database, query, sql
from pipeline.cli_ingest import ingest
from pipeline.cli_options import set_option, store_option
from pipeline.cli_output import (
    json_text,
    made_folder,
    open_store,
    output_options,
    plural,
    show,
    unknown_view,
)
from pipeline.errors import UserError
from pipeline.history.commands import compare, nightly, regress


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
        except Exception as error:
            if type(error).__name__ != "OutOfMemoryException":  # DuckDB's; it may not be loaded
                raise
            problem = str(error).split("\n")[0]
            way_out = "allow more, as TRACELAKE_MEMORY_LIMIT=4GB, or name fewer runs"
            click.echo(f"tracelake: {UserError('queries', problem, way_out)}", err=True)
            ctx.exit(2)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tracelake")
def main() -> None:
    """Offline trace analysis for large-model training jobs.

    \b
    Example:
      tracelake ingest archive/ && tracelake report --output report/
    """


for command in (ingest, query, sql, database, compare, nightly, regress):
    main.add_command(command)


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
    connection = open_store(store_path).connect(asked=["run_summary"])
    show(connection, "FROM run_summary", format_, output)


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
        raise unknown_view(name)
    width = max(len(column.name) for column in columns)
    for column in columns:
        click.echo(f"{column.name.ljust(width)}  {column.doc}")


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
    from pipeline.diagnosis_text import as_text

    connection = open_store(store_path).connect(thresholds, [run], asked=diagnosing.VIEWS)
    diagnosis = diagnosing.diagnose(connection, run)
    if format_ == "json":
        click.echo(json_text(diagnosing.as_record(diagnosis)))
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        paint = {"paint": _painted} if is_coloured else {}
        click.echo(as_text(diagnosis, width, **paint))
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

    store = open_store(store_path)
    made_folder(output)
    pages = write_report(store, list(runs) or None, output, thresholds)
    click.echo(f"wrote {plural(len(pages), 'page')} and {output / 'index.html'}", err=True)
