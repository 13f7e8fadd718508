"""Communication kernels by operation."""

from __future__ import annotations

import altair as alt
import duckdb

from pipeline.report.charts import EXPOSED_COMMUNICATION, ROW_HEIGHT, specification
from pipeline.report.section import DEVICE_NAME, MOST_ROWS, Chart, Section, frame, table

VIEW = "collective_summary"

_TABLE = f"""
    SELECT operation, {DEVICE_NAME} AS device, kernel_count, total_ns, min_ns, median_ns,
        p99_ns, max_ns
    FROM collective_summary
    ORDER BY operation, rank, host, process, device_id
"""
_RANGES = f"""
    SELECT operation || ', ' || {DEVICE_NAME} AS series, min_ns / 1e3 AS least,
        median_ns / 1e3 AS middle, p99_ns / 1e3 AS p99, max_ns / 1e3 AS most
    FROM collective_summary
    ORDER BY total_ns DESC, series
    LIMIT {MOST_ROWS}
"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    rows = table(connection, _TABLE, "Durations of communication kernels")
    return Section(
        key="communication",
        title="Communication by operation",
        lead="The duration of a communication kernel is waiting for the last rank plus transfer: "
        "the rank with the shortest is the one the others waited for, and a long one often "
        "belongs to a healthy rank.",
        view=VIEW,
        tables=[rows] if rows.total else [],
        charts=[_chart(connection)] if rows.total else [],
        empty="No communication kernels were captured.",
    )


def _chart(connection: duckdb.DuckDBPyConnection) -> Chart:
    base = alt.Chart(frame(connection, _RANGES), height=alt.Step(ROW_HEIGHT)).encode(
        y=alt.Y("series:N", sort=None, title=None, axis=alt.Axis(labelLimit=320)),
        tooltip=[
            "series:N",
            *(
                alt.Tooltip(f"{field}:Q", format=",.1f", title=f"{title} us")
                for field, title in (
                    ("least", "min"),
                    ("middle", "median"),
                    ("p99", "p99"),
                    ("most", "max"),
                )
            ),
        ],
    )
    scale = alt.Scale(type="log", nice=True)
    whole = base.mark_rule(color=EXPOSED_COMMUNICATION, opacity=0.5, strokeWidth=2).encode(
        x=alt.X("least:Q", scale=scale, title="duration, us: min to max, median and p99"),
        x2="most:Q",
    )
    middle = base.mark_point(color=EXPOSED_COMMUNICATION, filled=True, size=60, opacity=1).encode(
        x=alt.X("middle:Q", scale=scale)
    )
    p99 = base.mark_tick(color=EXPOSED_COMMUNICATION, thickness=2).encode(
        x=alt.X("p99:Q", scale=scale)
    )
    chart = alt.layer(whole, middle, p99).properties(width="container")
    return Chart(specification(chart), "Ranges of durations of communication kernels")
