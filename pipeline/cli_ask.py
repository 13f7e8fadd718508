"""Commands that ask the store: a view, a statement of one's own, a file for other clients."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline import catalog
from pipeline.cli_options import run_option, set_option, store_option
from pipeline.cli_output import (
    first_lines,
    made_folder,
    open_store,
    output_options,
    show,
    unknown_view,
)
from pipeline.errors import UserError

if TYPE_CHECKING:
    import duckdb


@click.command()
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
        raise unknown_view(view)
    connection = open_store(store_path).connect(
        thresholds, runs or None, asked=[view, "ingest_issue"]
    )
    if not show(connection, f"FROM {view}", format_, output):
        _say_why_empty(connection, view)


def _say_why_empty(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    """No rows is an answer only with its reason: what the files of the runs in sight lack."""
    reasons = connection.execute(
        "SELECT run_id || ': ' || place, problem, way_out FROM ingest_issue "
        "WHERE severity = 'error' OR problem LIKE 'no %' ORDER BY ALL"
    ).fetchall()
    click.echo(f"{view}: no rows", err=True)
    for reason in reasons:
        click.echo(str(UserError(*reason)), err=True)


@click.command()
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
    connection = open_store(store_path).connect(thresholds, runs or None, asked=asked or None)
    _only_reads(connection, statement)
    show(connection, statement, format_, output)


# Such a statement lists tables and views: all of them must be there.
_OF_THE_CATALOG = re.compile(r"\b(duckdb_|information_schema|pg_|sqlite_|show\b)", re.IGNORECASE)


def _only_reads(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    import duckdb

    try:
        statements = connection.extract_statements(statement)
    except duckdb.Error as error:
        raise UserError("sql", first_lines(error), "correct the statement") from error
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
                raise unknown_view(unknown[1]) from error
            raise UserError("sql", first_lines(error), "correct the statement") from error


def _not_allowed(what: str) -> UserError:
    problem = f"{what} is not allowed: the store is only read"
    return UserError("sql", problem, "use SELECT; 'tracelake database' makes a file to work in")


@click.command()
@store_option
@click.option(
    "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="File to make."
)
@click.option(
    "--keep",
    "kept",
    multiple=True,
    metavar="VIEW",
    help="Compute this view now and keep its rows; may be repeated.",
)
@set_option
def database(
    store_path: Path, output: Path, kept: tuple[str, ...], thresholds: dict[str, float]
) -> None:
    """Make a DuckDB file with every view over the store, for any DuckDB client.

    The file holds views, not data: it reads the store where it lies. Views of many views, as
    finding, wall and what_if are, take any client long to plan: --keep them, and the file holds
    their rows as they are now, and those of what they rest on.

    \b
    Example:
      tracelake database --store demo/store --output demo/tracelake.duckdb --keep what_if
    """
    if output.exists():
        raise UserError(str(output), "exists already", "remove it or name another file")
    for view in kept:
        if view not in catalog.queries():
            raise unknown_view(view)
    made_folder(output.parent)
    open_store(store_path).connect(thresholds, database=str(output), kept=kept).close()
    click.echo(f"wrote {output}", err=True)
