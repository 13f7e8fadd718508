"""Why the GPUs were idle, and how work gets to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline import units
from pipeline.report import charts
from pipeline.report.section import (
    COLLECT_GPU,
    DRAWN_DEVICES,
    LABELLED_DEVICES,
    Chart,
    Section,
    Source,
    fetch,
    table,
)

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("traced_device", "nccl_time_share", "kernel_gap_cause", "launch_summary")

CAUSE_SQL = """SELECT
    cause,
    sum(total_ns)::BIGINT AS total_ns,
    share_of(sum(total_ns), sum(sum(total_ns)) OVER ()) AS idle_share,
    sum(part_count)::BIGINT AS part_count,
    max(longest_ns) AS longest_ns,
    arg_max(responsible, responsible_ns) AS mostly
FROM kernel_gap_cause
GROUP BY cause
ORDER BY total_ns DESC, cause"""

CHART_SQL = f"""WITH {DRAWN_DEVICES},
total AS (
    SELECT cause, sum(total_ns) AS over_all_ns
    FROM kernel_gap_cause
    GROUP BY cause
),
ranked AS (
    SELECT cause, row_number() OVER (ORDER BY over_all_ns DESC, cause) AS cause_position
    FROM total
)
SELECT
    d.device,
    r.cause_position,
    c.cause,
    sum(c.total_ns)::BIGINT AS total_ns,
    sum(c.total_ns) / 1e9 AS total_s
FROM kernel_gap_cause AS c
JOIN ranked AS r USING (cause)
JOIN drawn_device AS d USING (source_id, process, device_id)
GROUP BY d.position, d.device, r.cause_position, c.cause
ORDER BY d.position, r.cause_position"""

LAUNCH_SQL = f"""WITH {LABELLED_DEVICES}
SELECT
    d.device,
    l.kernels_per_s,
    l.short_kernel_share,
    l.median_kernel_ns,
    l.median_call_ns,
    l.median_latency_ns,
    l.p99_latency_ns,
    l.median_queue_depth,
    l.empty_queue_share,
    l.launched_count,
    l.activity_count,
    l.worst_early_ns,
    l.is_aligned
FROM launch_summary AS l
JOIN labelled_device AS d USING (source_id, process, device_id)
ORDER BY d.position"""

MISALIGNED_SQL = """SELECT count(*), max(disagreement_ns)
FROM launch_summary
WHERE NOT is_aligned"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Why idle",
        "Idle time of the GPUs by why the next activity did not start. Until its launch call "
        "has returned, time belongs to what the launching thread did; the rest is dependency: "
        "launched, but waiting for an event, another stream or a peer. short_gap: intervals "
        "below kernel_gap_ns. Causes sum to the idle time exactly.",
    )
    causes = table(
        connection,
        "gap_causes",
        Source("kernel_gap_cause", CAUSE_SQL),
        "Idle time by cause, all GPUs",
        {"idle_share": "idle_share"},
    )
    if causes is None:
        return Section("gap_causes", title, explanation, empty=COLLECT_GPU)
    launches = table(
        connection,
        "launches",
        Source("launch_summary", LAUNCH_SQL),
        "Launches by device",
        {
            "short_kernel_share": "short_kernel_share",
            "empty_queue_share": "empty_queue_share",
        },
    )
    frame = fetch(connection, CHART_SQL)
    chart = Chart(
        "gap_causes",
        "Idle time by device and cause",
        "Stacked bars, one per device: its idle time by cause. The table below sums them.",
        Source("kernel_gap_cause", CHART_SQL),
        draw(frame),
    )
    return Section(
        "gap_causes",
        title,
        explanation,
        charts=(chart,) if not frame.is_empty() else (),
        tables=(causes,) if launches is None else (causes, launches),
        notes=_clock_notes(connection),
    )


def _clock_notes(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    ((devices, worst_ns),) = connection.execute(MISALIGNED_SQL).fetchall()
    if not devices:
        return ()
    return (
        f"On {devices} of the devices clocks of CPU and GPU disagree, by up to "
        f"{units.time(worst_ns)}: kernels start before their own launch call, or end after a "
        "call that waited for them has returned. Their gaps are unknown, not guessed; "
        "capture again with a newer Nsight Systems.",
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "total_ns")
    causes = frame.sort("cause_position").get_column("cause").unique(maintain_order=True)
    chart = (
        alt.Chart(frame)
        .mark_bar(height={"band": 0.72})
        .encode(
            y=charts.rows(frame, "device"),
            x=alt.X("total_s:Q", axis=charts.seconds_axis("idle time", tickCount=6)),
            color=alt.Color(
                "cause:N",
                title=None,
                scale=alt.Scale(domain=causes.to_list(), scheme="tableau10"),
            ),
            order=alt.Order("cause_position:Q"),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("cause:N"),
                alt.Tooltip("total_ns_text:N", title="idle time"),
            ],
        )
    )
    return charts.spec(chart, charts.ROW_HEIGHT * frame.get_column("device").n_unique())
