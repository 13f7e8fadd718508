"""What a section is: a title, one sentence on what its numbers mean, a table, perhaps a chart.

A section computes nothing. Its numbers are rows of SQL over the views, its chart is a Vega-Lite
specification over such rows, and scaling for people is left to :mod:`pipeline.units`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline import units

if TYPE_CHECKING:
    import duckdb
    import polars as pl

# Longer tables are cut; what was cut is said, with the query that shows it.
MOST_ROWS = 40

# How a device is called, in SQL over any view that has these columns.
DEVICE_NAME = """
    coalesce('rank ' || rank, 'process ' || process)
    || CASE WHEN host IS NULL THEN '' ELSE ' on ' || host END
    || ', GPU ' || device_id
"""


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification and what it shows, for those who cannot see it."""

    spec: dict[str, Any]
    alt: str


@dataclass(frozen=True)
class Table:
    """Columns and raw rows of a table; ``total`` is the count of rows before it was cut."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    total: int
    caption: str = ""

    def cells(self) -> list[list[str]]:
        """The rows as people read them."""
        return [
            [units.show(c, v) for c, v in zip(self.columns, row, strict=True)] for row in self.rows
        ]

    def headings(self) -> list[str]:
        return [units.heading(column) for column in self.columns]

    def is_number(self) -> list[bool]:
        """Whether a column is set to the right."""
        return [
            any(isinstance(row[i], int | float) for row in self.rows)
            for i in range(len(self.columns))
        ]


@dataclass(frozen=True)
class Section:
    """One part of a page. ``empty`` says what to collect when there is nothing to show."""

    key: str
    title: str
    lead: str
    view: str
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = field(default_factory=tuple)
    empty: str = ""


def table(
    connection: duckdb.DuckDBPyConnection, sql: str, caption: str = "", most: int = MOST_ROWS
) -> Table:
    """The result of a SELECT, cut to ``most`` rows."""
    result = connection.execute(sql)
    columns = [name for name, *_ in result.description or []]
    rows = result.fetchall()
    return Table(columns, rows[:most], len(rows), caption)


def frame(connection: duckdb.DuckDBPyConnection, sql: str) -> pl.DataFrame:
    """The result of a SELECT as a frame for a chart."""
    result: pl.DataFrame = connection.sql(sql).pl()
    return result


def one(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    """The only row of a SELECT."""
    (row,) = connection.execute(sql).fetchall()
    return row
