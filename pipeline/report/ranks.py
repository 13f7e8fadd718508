"""Ranks against each other: who waits, for whom, and what it would save if nobody did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import (
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

VIEWS = ("traced_device", "nccl_time_share", "collective_wait", "straggler", "what_if")

CHART_SQL = f"""WITH {DRAWN_DEVICES},
part AS (
    SELECT source_id, process, device_id, unnest([
        {{'part_position': 1, 'part': 'transfer', 'part_ns': transfer_ns}},
        {{'part_position': 2, 'part': 'tail', 'part_ns': tail_ns}},
        {{'part_position': 3, 'part': 'waiting for the last rank', 'part_ns': wait_ns}}
    ], recursive := true)
    FROM collective_wait
    WHERE split_count > 0
)
SELECT d.device, p.part_position, p.part, p.part_ns, p.part_ns / 1e9 AS part_s
FROM part AS p
JOIN drawn_device AS d USING (source_id, process, device_id)
ORDER BY d.position, p.part_position"""

WAIT_SQL = f"""WITH {LABELLED_DEVICES}
SELECT
    d.device,
    w.collective_count,
    w.split_count,
    w.wait_share,
    w.wait_ns,
    w.transfer_ns,
    w.last_arrival_share,
    w.caused_wait_ns,
    w.median_residual_ns,
    w.worst_residual_ns,
    w.reason
FROM collective_wait AS w
JOIN labelled_device AS d USING (source_id, process, device_id)
ORDER BY d.position"""

STRAGGLER_SQL = f"""WITH {LABELLED_DEVICES}
SELECT
    d.device,
    s.verdict,
    s.reason,
    s.lost_share,
    s.lost_ns,
    s.critical_count,
    s.step_count,
    s.slowness,
    s.what_if_slowdown,
    s.outlier_score
FROM straggler AS s
JOIN labelled_device AS d USING (source_id, process, device_id)
ORDER BY s.lost_ns DESC NULLS LAST, d.position"""

WHAT_IF_SQL = """SELECT scenario, what_if_ns, saved_ns, saved_share, step_ns, reason, model
FROM what_if
ORDER BY saved_ns DESC NULLS LAST, scenario"""

PARTS = {
    "transfer": charts.COMMUNICATION,
    "tail": charts.OVERLAP,
    "waiting for the last rank": charts.IDLE,
}


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Ranks",
        "A communication kernel waits for the last rank before it transfers: a rank that waits "
        "is not slow at communication. Ranks' clocks are aligned on the ends of collectives; "
        "what remains is the residual. A straggler is the rank that the others wait for; lost "
        "time is what the job would have saved had it been like the median rank.",
    )
    waits = table(
        connection,
        "waits",
        Source("collective_wait", WAIT_SQL),
        "Waiting and transfer by device",
        {"wait_share": "wait_share", "last_arrival_share": "last_arrival_share"},
    )
    stragglers = table(
        connection,
        "stragglers",
        Source("straggler", STRAGGLER_SQL),
        "Who is waited for",
        {"lost_share": "lost_share"},
    )
    scenarios = table(
        connection,
        "what_if",
        Source("what_if", WHAT_IF_SQL),
        "What a step would take if one thing were different",
        {"saved_share": "saved_share"},
    )
    tables = tuple(made for made in (waits, stragglers, scenarios) if made is not None)
    if not tables:
        return Section(
            "ranks",
            title,
            explanation,
            empty="Neither collectives nor steps were captured; trace every rank of the job with "
            "'nsys profile --trace=cuda,nvtx' and ingest their exports as one run.",
        )
    frame = fetch(connection, CHART_SQL)
    chart = Chart(
        "waits",
        "Communication time by device: transfer, and waiting for the last rank",
        "Stacked bars, one per device: time of its collectives in transfer, tail and waiting. "
        "The table below holds the times.",
        Source("collective_wait", CHART_SQL),
        draw(frame),
    )
    return Section(
        "ranks", title, explanation, charts=(chart,) if not frame.is_empty() else (), tables=tables
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "part_ns")
    chart = (
        alt.Chart(frame)
        .mark_bar(height={"band": 0.72})
        .encode(
            y=charts.rows(frame, "device"),
            x=alt.X("part_s:Q", axis=charts.seconds_axis("time in collectives", tickCount=6)),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())),
            ),
            order=alt.Order("part_position:Q"),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("part:N"),
                alt.Tooltip("part_ns_text:N", title="time"),
            ],
        )
    )
    return charts.spec(chart, charts.ROW_HEIGHT * frame.get_column("device").n_unique())
