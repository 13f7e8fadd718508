"""What the page rests on: the files, what was skipped or doubtful in them, the thresholds."""

from __future__ import annotations

import duckdb

from pipeline.report.section import Section, table

_FILES = """
    SELECT path, status, status_reason, host, rank, format, schema_version, tool_version,
        capture_version, capture_start_utc_ns, capture_dur_ns, size_bytes, row_count
    FROM source_file
    ORDER BY path, status
"""
_ISSUES = """
    SELECT severity, place, problem, way_out, row_count
    FROM ingest_issue
    ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, place, problem
"""
_SETTINGS = """
    SELECT name, string_agg(DISTINCT value, ', ' ORDER BY value) AS value
    FROM setting
    GROUP BY name
    ORDER BY name
"""
_THRESHOLDS = "SELECT name, value, unit, reason, source FROM threshold ORDER BY name"


def files_section(connection: duckdb.DuckDBPyConnection) -> Section:
    files = table(connection, _FILES, "Files of this run", most=100)
    settings = table(connection, _SETTINGS, "What the job's environment says", most=100)
    return Section(
        key="files",
        title="Files",
        lead="Every file that was met for this run, stored or refused, and how complete it is.",
        view="source_file",
        tables=[part for part in (files, settings) if part.total],
    )


def issues_section(connection: duckdb.DuckDBPyConnection) -> Section:
    issues = table(connection, _ISSUES, "Skipped or doubtful", most=100)
    return Section(
        key="issues",
        title="Skipped and doubtful input",
        lead="What was left out or cannot be trusted, where it stands, and the way out.",
        view="ingest_issue",
        tables=[issues] if issues.total else [],
        empty="Nothing was skipped and nothing looked doubtful.",
    )


def thresholds_section(connection: duckdb.DuckDBPyConnection) -> Section:
    return Section(
        key="thresholds",
        title="Thresholds used",
        lead="Values that decide what counts; override them with --set NAME=VALUE.",
        view="threshold",
        tables=[table(connection, _THRESHOLDS, "Thresholds", most=200)],
    )
