"""The thresholds behind the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("threshold",)

SQL = "SELECT name, value, unit, reason, source FROM threshold ORDER BY name"


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    source = Source("threshold", SQL)
    used = table(connection, "thresholds", source, "Thresholds used", limit=None)
    return Section(
        "thresholds",
        "Thresholds",
        "The values this page was made with, overrides included; change one with "
        "'--set NAME=VALUE', or in tracelake.toml.",
        tables=(used,) if used else (),
    )
