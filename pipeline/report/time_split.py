"""Where each device's span went."""

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

VIEWS = ("traced_device", "nccl_time_share")

CHART_SQL = f"""WITH {DRAWN_DEVICES},
part AS (
    SELECT d.position, d.device, t.span_ns, unnest([
        {{'part_position': 1, 'part': 'compute', 'part_ns': t.compute_ns - t.overlap_ns}},
        {{'part_position': 2, 'part': 'compute with communication beside it',
            'part_ns': t.overlap_ns}},
        {{'part_position': 3, 'part': 'exposed communication',
            'part_ns': t.exposed_communication_ns}},
        {{'part_position': 4, 'part': 'exposed memory', 'part_ns': t.exposed_memory_ns}},
        {{'part_position': 5, 'part': 'idle', 'part_ns': t.idle_ns}}
    ], recursive := true)
    FROM nccl_time_share AS t
    JOIN drawn_device AS d USING (source_id, process, device_id)
)
SELECT device, part_position, part, share_of(part_ns, span_ns) AS part_share, part_ns
FROM part
ORDER BY position, part_position"""

TABLE_SQL = f"""WITH {LABELLED_DEVICES}
SELECT
    d.device,
    t.span_ns,
    t.compute_ns,
    t.overlap_ns,
    t.exposed_communication_ns,
    t.exposed_memory_ns,
    t.idle_ns,
    t.busy_share,
    t.graph_ns
FROM nccl_time_share AS t
JOIN labelled_device AS d USING (source_id, process, device_id)
ORDER BY d.position"""

GRAPH_SQL = """SELECT
    count(*) FILTER (graph_ns > 0) AS graph_device_count,
    max(share_of(graph_ns, span_ns)) AS graph_share
FROM nccl_time_share"""

PARTS = {
    "compute": charts.COMPUTE,
    "compute with communication beside it": charts.OVERLAP,
    "exposed communication": charts.COMMUNICATION,
    "exposed memory": charts.MEMORY,
    "idle": charts.IDLE,
}


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    source = Source("nccl_time_share", TABLE_SQL)
    split = table(connection, "time_split", source, "Time split, device by device")
    made = Section(
        name="time_split",
        title="Time split",
        explanation=(
            "Each device's span, cut into parts that do not overlap and sum to it. Compute is "
            "every kernel other than communication; communication is exposed where no compute "
            "runs beside it; memory is exposed where no kernel runs beside a copy or set."
        ),
        empty=COLLECT_GPU,
    )
    if split is None:
        return made
    frame = fetch(connection, CHART_SQL)
    chart = Chart(
        name="time_split",
        caption="Share of span by device",
        alt="Stacked bars, one per device: the shares of its span in compute, compute with "
        "communication beside it, exposed communication, exposed memory and idle. "
        "The table below holds the times.",
        source=Source("nccl_time_share", CHART_SQL),
        spec=draw(frame),
    )
    return Section(
        name=made.name,
        title=made.title,
        explanation=made.explanation,
        charts=(chart,),
        tables=(split,),
        notes=_graph_notes(connection),
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "part_share", "part_ns")
    chart = (
        alt.Chart(frame)
        .mark_bar(height={"band": 0.72})
        .encode(
            y=charts.rows(frame, "device"),
            x=alt.X(
                "part_share:Q",
                scale=alt.Scale(domain=[0, 1], nice=False),
                axis=charts.share_axis("share of span"),
            ),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())),
            ),
            order=alt.Order("part_position:Q"),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("part:N"),
                alt.Tooltip("part_share_text:N", title="share of span"),
                alt.Tooltip("part_ns_text:N", title="time"),
            ],
        )
    )
    return charts.spec(chart, charts.ROW_HEIGHT * frame.get_column("device").n_unique())


def _graph_notes(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    ((devices, share),) = connection.execute(GRAPH_SQL).fetchall()
    if not devices:
        return ()
    return (
        f"CUDA graphs were recorded as a whole on {units.count(devices)} of the devices, up to "
        f"{units.share(share)} of a span (graph_ns). Graph time is counted as compute and may "
        "hold communication that the capture does not show; capture with "
        "'--cuda-graph-trace=node' to see inside.",
    )
