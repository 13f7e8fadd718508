"""CUDA calls, by the time the host spent in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("api_summary",)

SQL = """SELECT
    name,
    sum(total_ns)::BIGINT AS total_ns,
    share_of(sum(total_ns), max(sum(total_ns)) OVER ()) AS bar_share,
    sum(call_count)::BIGINT AS call_count,
    sum(error_count)::BIGINT AS error_count,
    count(*) AS process_count,
    min(min_ns) AS min_ns,
    min(median_ns) AS lowest_median_ns,
    max(median_ns) AS highest_median_ns,
    max(p99_ns) AS highest_p99_ns,
    max(max_ns) AS max_ns
FROM api_summary
GROUP BY name
ORDER BY total_ns DESC, name"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    calls = table(
        connection,
        "api",
        Source("api_summary", SQL),
        "CUDA calls by total time, over all processes",
        {"total_ns": "bar_share"},
    )
    return Section(
        "api",
        "CUDA calls",
        "Time that host threads spent in CUDA runtime and driver calls: sum of durations, "
        "threads counting twice where they overlap. Medians and the 99th percentile are of the "
        "process in which they are lowest or highest.",
        tables=(calls,) if calls else (),
        empty=""
        if calls
        else "No CUDA calls were captured; capture with 'nsys profile --trace=cuda'.",
    )
