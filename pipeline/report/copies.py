"""Memory copies and sets."""

from __future__ import annotations

import altair as alt
import duckdb

from pipeline.report.charts import EXPOSED_MEMORY, ROW_HEIGHT, specification
from pipeline.report.section import Chart, Section, frame, table

VIEW = "memory_copy_summary"

_SUMMED = """
    SELECT kind, source_memory, destination_memory, sum(copy_count)::BIGINT AS copy_count,
        sum(bytes)::BIGINT AS bytes, sum(total_ns)::BIGINT AS total_ns,
        share_of(sum(bytes) * 1e9, sum(total_ns)) AS bytes_per_s,
        min(min_bytes) AS min_bytes, max(max_bytes) AS max_bytes
    FROM memory_copy_summary
    GROUP BY kind, source_memory, destination_memory
    ORDER BY total_ns DESC, kind, source_memory, destination_memory
"""
_BARS = f"""
    SELECT kind || ' ' || coalesce(source_memory, '?') || ' to '
            || coalesce(destination_memory, '?') AS series,
        bytes_per_s / 1e9 AS gb_per_s, copy_count AS copies, bytes / 1e6 AS mb
    FROM ({_SUMMED})
    WHERE bytes_per_s IS NOT NULL
"""
_SETS = """
    SELECT memory, sum(set_count)::BIGINT AS set_count, sum(bytes)::BIGINT AS bytes,
        sum(total_ns)::BIGINT AS total_ns
    FROM memory_set_summary
    GROUP BY memory
    ORDER BY total_ns DESC, memory
"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    copies = table(connection, _SUMMED, "Memory copies, all devices together")
    sets = table(connection, _SETS, "Memory sets, all devices together")
    return Section(
        key="copies",
        title="Memory copies",
        lead="Bandwidth is bytes / time of the copies, by direction and kind of memory. Small "
        "copies are bound by latency, not by the link. Pageable memory is copied by way of a "
        "buffer of the driver.",
        view=VIEW,
        tables=[part for part in (copies, sets) if part.total],
        charts=[_chart(connection)] if copies.total else [],
        empty="No memory copies were captured.",
    )


def _chart(connection: duckdb.DuckDBPyConnection) -> Chart:
    chart = (
        alt.Chart(frame(connection, _BARS), height=alt.Step(ROW_HEIGHT))
        .mark_bar(color=EXPOSED_MEMORY, height=ROW_HEIGHT - 8)
        .encode(
            y=alt.Y("series:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
            x=alt.X("gb_per_s:Q", title="GB/s"),
            tooltip=[
                "series:N",
                alt.Tooltip("gb_per_s:Q", format=",.2f", title="GB/s"),
                alt.Tooltip("copies:Q", format=","),
                alt.Tooltip("mb:Q", format=",.3f", title="MB"),
            ],
        )
        .properties(width="container")
    )
    return Chart(specification(chart), "Bars: bandwidth of memory copies by kind")
