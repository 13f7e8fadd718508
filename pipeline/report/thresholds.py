"""The thresholds behind the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("threshold",)

SQL = "SELECT name, value, unit, reason, source FROM threshold ORDER BY name"


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    used = table(connection, "thresholds", Source("threshold", SQL), "Thresholds used")
    return Section(
        "thresholds",
        "Thresholds",
        "The values this page was made with, overrides included; change one with "
        "'--set NAME=VALUE'.",
        tables=(used,) if used else (),
    )
