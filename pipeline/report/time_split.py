"""Where each device's time went, exclusively."""

from __future__ import annotations

import altair as alt
import duckdb

from pipeline.report.charts import ROW_HEIGHT, SPLIT, share_axis, specification
from pipeline.report.section import DEVICE_NAME, MOST_ROWS, Chart, Section, frame, one, table

VIEW = "nccl_time_share"

# The devices with the most exposed communication and idle time first: those are looked for.
_SPLIT = f"""
    WITH device AS (
        SELECT *, {DEVICE_NAME} AS device,
            row_number() OVER (
                ORDER BY exposed_communication_share + idle_share DESC, host, rank, device_id
            ) AS place
        FROM page.nccl_time_share
    )
    SELECT device, place, part, share, dur_ns / 1e6 AS ms
    FROM device, LATERAL (VALUES
        ('compute', share_of(compute_ns, span_ns), compute_ns),
        ('exposed communication', exposed_communication_share, exposed_communication_ns),
        ('exposed memory', share_of(exposed_memory_ns, span_ns), exposed_memory_ns),
        ('idle', idle_share, idle_ns)
    ) AS p(part, share, dur_ns)
    WHERE place <= {MOST_ROWS}
    ORDER BY place, part
"""
_TABLE = f"""
    SELECT {DEVICE_NAME} AS device, span_ns, busy_share,
        share_of(compute_ns, span_ns) AS compute_share, communication_share,
        exposed_communication_share, overlap_share,
        share_of(exposed_memory_ns, span_ns) AS exposed_memory_share, idle_share,
        nccl_share_of_kernel_time, kernel_count, nccl_count
    FROM page.nccl_time_share
    ORDER BY exposed_communication_share + idle_share DESC, host, rank, device_id
"""
_GRAPH = "SELECT coalesce(sum(graph_ns), 0) FROM page.nccl_time_share"


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    rows = table(connection, _TABLE, "Shares of the span, per device and process")
    notes = []
    (graph_ns,) = one(connection, _GRAPH)
    if graph_ns:
        notes.append(
            "CUDA graphs were recorded as a whole. Their time counts as compute, although it may "
            "hold communication that the capture does not show; capture with "
            "--cuda-graph-trace=node to see inside."
        )
    return Section(
        key="time-split",
        title="Time split per device",
        lead="Compute (with or without communication beside it), exposed communication, exposed "
        "memory operations and idle, each divided by the device's span from the first start to "
        "the last end of its activity. The four add up to the span to the nanosecond.",
        view=VIEW,
        tables=[rows] if rows.total else [],
        charts=[_chart(connection)] if rows.total else [],
        notes=notes,
        empty="No GPU activity was captured: collect with 'nsys profile --trace=cuda,nvtx' around "
        "the processes that use the GPU.",
    )


def _chart(connection: duckdb.DuckDBPyConnection) -> Chart:
    data = frame(connection, _SPLIT)
    chart = (
        alt.Chart(data, height=alt.Step(ROW_HEIGHT))
        .mark_bar(height=ROW_HEIGHT - 6)
        .encode(
            y=alt.Y("device:N", sort=alt.SortField("place"), title=None),
            x=alt.X(
                "share:Q",
                stack="zero",
                scale=alt.Scale(domain=[0, 1]),
                axis=share_axis("share of span"),
            ),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=list(SPLIT), range=list(SPLIT.values())),
                legend=alt.Legend(orient="top", title=None),
            ),
            order=alt.Order("part:N"),
            tooltip=[
                "device:N",
                "part:N",
                alt.Tooltip("share:Q", format=".2%"),
                alt.Tooltip("ms:Q", format=",.3f", title="ms"),
            ],
        )
        .properties(width="container")
    )
    return Chart(specification(chart), "Stacked bars: the exclusive time split of each device")
