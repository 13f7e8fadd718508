"""Kernels by the time they took, over all devices of the run."""

from __future__ import annotations

import altair as alt
import duckdb

from pipeline.report.charts import CLASSES, ROW_HEIGHT, share_axis, specification
from pipeline.report.section import Chart, Section, frame, table

VIEW = "top_kernel"

_SUMMED = """
    SELECT name, class, any_value(short_name) AS short_name,
        sum(kernel_count)::BIGINT AS kernel_count, sum(total_ns)::BIGINT AS total_ns,
        share_of(sum(total_ns), (SELECT sum(total_ns) FROM page.top_kernel)) AS kernel_time_share,
        min(min_ns) AS min_ns, max(max_ns) AS max_ns, count(*) AS device_count
    FROM page.top_kernel
    GROUP BY name, class
"""
_TABLE = f"""
    SELECT name, class, kernel_count, total_ns, kernel_time_share, min_ns, max_ns, device_count
    FROM ({_SUMMED})
    ORDER BY total_ns DESC, name
"""
_BARS = f"""
    SELECT row_number() OVER (ORDER BY total_ns DESC, name) AS place,
        coalesce(short_name, left(name, 60)) AS short, left(name, 200) AS name, class,
        kernel_time_share AS share, total_ns / 1e6 AS ms, kernel_count AS executions
    FROM ({_SUMMED})
    ORDER BY total_ns DESC, name
    LIMIT 15
"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    rows = table(connection, _TABLE, "Kernels by total time, all devices together")
    return Section(
        key="kernels",
        title="Top kernels",
        lead="Sum of the durations of a kernel / sum of all kernels' durations, over all devices. "
        "Streams that overlap count twice, so this is a share of kernel time, not of the step.",
        view=VIEW,
        tables=[rows] if rows.total else [],
        charts=[_chart(connection)] if rows.total else [],
        empty="No kernels were captured.",
    )


def _chart(connection: duckdb.DuckDBPyConnection) -> Chart:
    chart = (
        alt.Chart(frame(connection, _BARS), height=alt.Step(ROW_HEIGHT))
        .transform_calculate(label="datum.place + '. ' + datum.short")
        .mark_bar(height=ROW_HEIGHT - 8)
        .encode(
            y=alt.Y(
                "label:N",
                sort=alt.SortField("place"),
                title=None,
                axis=alt.Axis(labelLimit=320),
            ),
            x=alt.X("share:Q", axis=share_axis("share of kernel time")),
            color=alt.Color(
                "class:N",
                scale=alt.Scale(domain=list(CLASSES), range=list(CLASSES.values())),
                legend=alt.Legend(orient="top", title=None, columns=5),
            ),
            tooltip=[
                "name:N",
                "class:N",
                alt.Tooltip("share:Q", format=".2%"),
                alt.Tooltip("ms:Q", format=",.3f"),
                alt.Tooltip("executions:Q", format=","),
            ],
        )
        .properties(width="container")
    )
    return Chart(specification(chart), "Bars: the kernels that took most time, by class")
