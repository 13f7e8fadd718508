"""What the numbers rest on: the files, and everything skipped or doubtful in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("ingest_issue", "source_file")

# One row per kind of fault, however many files it was met in.
ISSUE_SQL = """SELECT
    severity,
    problem,
    way_out,
    count(*) AS place_count,
    min(place) AS first_place,
    sum(row_count)::BIGINT AS row_count
FROM ingest_issue
GROUP BY severity, problem, way_out
ORDER BY
    CASE severity WHEN 'error' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END,
    place_count DESC, problem, way_out"""

FILE_SQL = """SELECT
    path,
    status,
    status_reason,
    host,
    rank,
    format,
    schema_version,
    tool_version,
    capture_dur_ns,
    size_bytes,
    row_count
FROM source_file
ORDER BY
    CASE status WHEN 'refused' THEN 1 WHEN 'incomplete' THEN 2 WHEN 'unknown' THEN 3 ELSE 4 END,
    path, source_id"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    issues = table(
        connection,
        "issues",
        Source("ingest_issue", ISSUE_SQL),
        "Skipped or doubtful",
    )
    files = table(connection, "files", Source("source_file", FILE_SQL), "Source files")
    return Section(
        "sources",
        "Sources and what was skipped",
        "Every file met, and every fault found in it. error: the file was refused; warning: "
        "numbers may be affected; note: for information. row count: rows or samples that a "
        "fault concerns, or rows stored from a file.",
        tables=tuple(made for made in (issues, files) if made is not None),
        notes=() if issues else ("Nothing was skipped.",),
    )
