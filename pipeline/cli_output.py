"""What several commands say and write: results, messages, folders."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline import catalog, units
from pipeline.cli_options import Command
from pipeline.errors import UserError

if TYPE_CHECKING:
    import duckdb

    from pipeline.store import Store

FORMATS = ("table", "csv", "json", "parquet")

Render = Callable[[Sequence[str], Sequence[Sequence[object]]], str]


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


def open_store(path: Path) -> Store:
    from pipeline.store import Store

    return Store.open(path)


def made_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            str(folder), f"cannot be made: {error.strerror}", "name another with --output"
        ) from error


def unknown_view(name: str) -> UserError:
    import difflib

    known = [*catalog.queries(), *catalog.tables(), *catalog.reference()]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else "see 'tracelake views'"
    return UserError(f"view {name}", "no such view or table", hint)


def first_lines(error: Exception) -> str:
    return str(error).split("\n\n")[0]


def plural(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def show(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    format_: str,
    output: Path | None,
) -> int:
    """Prints the result of a statement, or writes it to ``output``; the count of its rows."""
    import duckdb

    if format_ == "parquet" and output is None:
        raise UserError("--format parquet", "needs a file to write", "add --output FILE")
    try:
        if format_ == "parquet" and output is not None:
            import pyarrow.parquet as pq

            table = connection.sql(statement).to_arrow_table()
            with _writing(output):
                pq.write_table(table, output)
            return int(table.num_rows)
        result = connection.execute(statement)
        columns = [name for name, *_ in result.description or []]
        rows = result.fetchall()
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise UserError("sql", first_lines(error), "correct the statement") from error
    # A table for a file or another program is whole.
    is_screen = output is None and sys.stdout.isatty()
    width = shutil.get_terminal_size((100, 24)).columns if is_screen else None
    renderers: dict[str, Render] = {
        "table": partial(units.table, width=width), "csv": _csv, "json": _json,
    }  # fmt: skip
    text = renderers[format_](columns, rows)
    if output is None:
        click.echo(text)
    else:
        with _writing(output):
            output.write_text(text + "\n", encoding="utf-8")
    return len(rows)


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
            [json_text(cell) if isinstance(cell, list | dict) else cell for cell in row]
        )
    return buffer.getvalue().rstrip("\n")


def _json(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    objects = (json_text(dict(zip(columns, row, strict=True))) for row in rows)
    return "[" + ",\n ".join(objects) + "]"


def json_text(value: object) -> str:
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
