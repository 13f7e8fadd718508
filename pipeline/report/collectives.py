"""Communication kernels by operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import Chart, Section, Source, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("collective_summary", "collective_split")

SPLIT_SQL = """WITH part AS (
    SELECT operation, unnest([
        {'part_position': 1, 'part': 'transfer', 'part_ns': transfer_ns},
        {'part_position': 2, 'part': 'tail', 'part_ns': tail_ns},
        {'part_position': 3, 'part': 'waiting for the last rank', 'part_ns': wait_ns},
        {'part_position': 4, 'part': 'cannot be split', 'part_ns': unsplit_ns}
    ], recursive := true)
    FROM collective_split
)
SELECT
    operation, part_position, part, part_ns,
    part_ns / 1e9 AS part_s,
    (sum(part_ns) OVER (PARTITION BY operation))::BIGINT AS total_ns
FROM part
WHERE part_ns > 0
ORDER BY total_ns DESC, operation, part_position"""

SPLIT_TABLE_SQL = """SELECT
    operation, kernel_count, split_count, wait_share, wait_ns, transfer_ns, tail_ns, unsplit_ns,
    longest_wait_ns, reason
FROM collective_split
ORDER BY coalesce(wait_ns + transfer_ns + tail_ns, 0) + unsplit_ns DESC, operation"""

SPLIT_PARTS = {
    "transfer": charts.COMMUNICATION,
    "tail": charts.OVERLAP,
    "waiting for the last rank": charts.IDLE,
    "cannot be split": charts.MEMORY,
}

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
    split = Chart(
        "collective_split",
        "Communication time by operation: transfer, tail, and waiting for the last rank",
        "Stacked bars, one per operation: time of its kernels over all ranks in transfer, tail "
        "and waiting, and what could not be split. The table below has the times.",
        Source("collective_split", SPLIT_SQL),
        draw_split(fetch(connection, SPLIT_SQL)),
    )
    splits = table(
        connection,
        "collective_split",
        Source("collective_split", SPLIT_TABLE_SQL),
        "Waiting and transfer by operation, over all devices",
        {"wait_share": "wait_share"},
    )
    return Section(
        "collectives",
        title,
        explanation,
        charts=(split, chart),
        tables=tuple(one for one in (splits, summary) if one is not None),
    )


def draw_split(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "part_ns")
    chart = (
        alt.Chart(frame)
        .mark_bar(height={"band": 0.72})
        .encode(
            y=charts.rows(frame, "operation"),
            x=alt.X("part_s:Q", axis=charts.seconds_axis("time in kernels", tickCount=6)),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=list(SPLIT_PARTS), range=list(SPLIT_PARTS.values())),
            ),
            order=alt.Order("part_position:Q"),
            tooltip=[
                alt.Tooltip("operation:N"),
                alt.Tooltip("part:N"),
                alt.Tooltip("part_ns_text:N", title="time"),
            ],
        )
    )
    return charts.spec(chart, 28 * frame.get_column("operation").n_unique())


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
