"""Which kernels the time went to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import Chart, Section, Source, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("top_kernel",)

CHART_SQL = """SELECT
    class,
    sum(kernel_count)::BIGINT AS kernel_count,
    sum(total_ns)::BIGINT AS total_ns,
    share_of(sum(total_ns), sum(sum(total_ns)) OVER ()) AS kernel_time_share
FROM top_kernel
GROUP BY class
ORDER BY total_ns DESC, class"""

TABLE_SQL = """SELECT
    name,
    class,
    share_of(sum(total_ns), sum(sum(total_ns)) OVER ()) AS kernel_time_share,
    sum(total_ns)::BIGINT AS total_ns,
    sum(kernel_count)::BIGINT AS kernel_count,
    count(*) AS device_count,
    min(min_ns) AS min_ns,
    min(median_ns) AS lowest_median_ns,
    max(median_ns) AS highest_median_ns,
    max(p99_ns) AS highest_p99_ns,
    max(max_ns) AS max_ns
FROM top_kernel
GROUP BY name, class
ORDER BY total_ns DESC, name, class"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Top kernels",
        "Kernels by the sum of their durations over all devices; streams count twice where they "
        "overlap. kernel time share: that sum / the sum of all kernels. Medians and the 99th "
        "percentile are of the device on which they are lowest or highest.",
    )
    top = table(
        connection,
        "top_kernels",
        Source("top_kernel", TABLE_SQL),
        "Kernels by total time",
        {"kernel_time_share": "kernel_time_share"},
    )
    if top is None:
        empty = "No kernels were captured; capture with 'nsys profile --trace=cuda'."
        return Section("top_kernels", title, explanation, empty=empty)
    chart = Chart(
        "kernel_class",
        "Kernel time by class",
        "Bars, one per class of kernel: its share of the sum of all kernels' durations.",
        Source("top_kernel", CHART_SQL),
        draw(fetch(connection, CHART_SQL)),
    )
    return Section("top_kernels", title, explanation, charts=(chart,), tables=(top,))


def draw(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "kernel_time_share", "total_ns", "kernel_count")
    base = alt.Chart(frame).encode(
        y=charts.rows(frame, "class"),
        x=alt.X("kernel_time_share:Q", axis=charts.share_axis("share of kernel time")),
        tooltip=[
            alt.Tooltip("class:N"),
            alt.Tooltip("kernel_time_share_text:N", title="share of kernel time"),
            alt.Tooltip("total_ns_text:N", title="total"),
            alt.Tooltip("kernel_count_text:N", title="kernels"),
        ],
    )
    bars = base.mark_bar(height={"band": 0.66}).encode(
        color=alt.Color(
            "class:N",
            legend=None,
            scale=alt.Scale(
                domain=frame.get_column("class").to_list(),
                range=[
                    charts.COMMUNICATION if name == "communication" else charts.COMPUTE
                    for name in frame.get_column("class")
                ],
            ),
        )
    )
    texts = base.mark_text(align="left", dx=5, fontSize=11, color="var(--muted)").encode(
        text="total_ns_text:N"
    )
    return charts.spec(alt.layer(bars, texts), charts.ROW_HEIGHT * frame.height)
