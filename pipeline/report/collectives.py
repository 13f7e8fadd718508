"""Communication kernels by operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import Chart, Section, Source, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("collective_summary",)

SQL = """SELECT
    operation,
    count(*) AS device_count,
    sum(kernel_count)::BIGINT AS kernel_count,
    sum(total_ns)::BIGINT AS total_ns,
    min(total_ns) AS lowest_total_ns,
    max(total_ns) AS highest_total_ns,
    arg_min(rank, total_ns) AS lowest_rank,
    min(min_ns) AS min_ns,
    min(median_ns) AS lowest_median_ns,
    max(median_ns) AS highest_median_ns,
    max(p99_ns) AS highest_p99_ns,
    max(max_ns) AS max_ns
FROM collective_summary
GROUP BY operation
ORDER BY total_ns DESC, operation"""

# In seconds and per operation; a logarithmic axis has no place for zero.
CHART_SQL = f"""SELECT
    *,
    greatest(min_ns, 1) / 1e9 AS min_s,
    greatest(lowest_median_ns, 1) / 1e9 AS lowest_median_s,
    greatest(highest_median_ns, 1) / 1e9 AS highest_median_s,
    greatest(highest_p99_ns, 1) / 1e9 AS highest_p99_s,
    greatest(max_ns, 1) / 1e9 AS max_s
FROM ({SQL})
ORDER BY total_ns DESC, operation"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Collectives",
        "Durations of communication kernels. A duration is waiting for the last rank plus "
        "transfer, so the rank with the lowest total is often the one that the others wait for. "
        "Medians, totals and the 99th percentile are of the device on which they are lowest or "
        "highest.",
    )
    summary = table(
        connection,
        "collectives",
        Source("collective_summary", SQL),
        "Communication kernels by operation, over all devices",
    )
    if summary is None:
        return Section(
            "collectives",
            title,
            explanation,
            empty="No communication kernels were captured; trace a job of several GPUs, and "
            "with CUDA graphs capture with '--cuda-graph-trace=node'.",
        )
    chart = Chart(
        "collectives",
        "Durations by operation: shortest to longest, band of the devices' medians, "
        "and 99th percentile",
        "One row per operation on a logarithmic axis of duration: a thin line from the shortest "
        "to the longest kernel, a band from the lowest to the highest median of a device, and "
        "a tick at the highest 99th percentile.",
        Source("collective_summary", CHART_SQL),
        draw(fetch(connection, CHART_SQL)),
    )
    return Section("collectives", title, explanation, charts=(chart,), tables=(summary,))


def draw(frame: pl.DataFrame) -> dict[str, object]:
    names = ("min_ns", "lowest_median_ns", "highest_median_ns", "highest_p99_ns", "max_ns")
    frame = charts.shown(frame, *names)
    axis = charts.seconds_axis("duration", tickCount=6)
    scale = alt.Scale(type="log", nice=False, padding=12)
    base = alt.Chart(frame).encode(
        y=charts.rows(frame, "operation"),
        tooltip=[
            alt.Tooltip("operation:N"),
            *(
                alt.Tooltip(f"{name}_text:N", title=name.removesuffix("_ns").replace("_", " "))
                for name in names
            ),
        ],
    )

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    whole = base.mark_rule(color="var(--muted)", strokeWidth=1.5).encode(x=x("min_s"), x2="max_s")
    medians = base.mark_bar(
        height=10, color=charts.COMMUNICATION, stroke=charts.COMMUNICATION, strokeWidth=2
    ).encode(x=x("lowest_median_s"), x2="highest_median_s")
    p99 = base.mark_tick(thickness=2, size=16, color="var(--text)").encode(x=x("highest_p99_s"))
    return charts.spec(alt.layer(whole, medians, p99), 28 * frame.height)
