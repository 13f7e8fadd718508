"""Bytes moved against what the hardware or the cluster's own benchmarks can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import Chart, Section, Source, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("bandwidth_efficiency", "reference_disagreement")

# Worst first; what was refused and what is an average over time comes after what was judged.
SQL = """SELECT
    subject_kind,
    name,
    conditions,
    host,
    rank,
    device_id,
    bytes_per_s,
    reference_bytes_per_s,
    efficiency_share,
    verdict,
    confidence,
    reference_source,
    candidates,
    reason
FROM bandwidth_efficiency
WHERE verdict <> 'latency'
ORDER BY
    list_position(
        ['low', 'impossible', 'fair', 'high', 'average', 'unknown'], verdict
    ),
    efficiency_share,
    bytes_per_s,
    subject_kind,
    source_id,
    subject_id"""

COPY_SQL = """SELECT
    name,
    count(*) AS group_count,
    min(bytes_per_s) AS lowest_bytes_per_s,
    max(bytes_per_s) AS highest_bytes_per_s,
    min(reference_bytes_per_s) AS reference_bytes_per_s
FROM bandwidth_efficiency
WHERE subject_kind = 'memory copy' AND conditions = 'large' AND bytes_per_s > 0
GROUP BY name
ORDER BY name"""

DISAGREEMENT_SQL = """SELECT
    gpu_name,
    property,
    count(*) AS device_count,
    traced_value,
    reference_value,
    difference_share,
    source
FROM reference_disagreement
GROUP BY gpu_name, property, traced_value, reference_value, difference_share, source
ORDER BY gpu_name, property, traced_value"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Bandwidth",
        "Bytes per second of kernels' memory, copies, links and collectives, against the peak of "
        "the GPU, the nominal link, or what the cluster's own benchmarks reached. Nothing is "
        "judged where the link is not known (then it has candidates), where latency limits (left "
        "out here), or where more than the peak was measured. Averages over time include idle "
        "time. Collectives are given as busbw.",
    )
    shares = table(
        connection,
        "bandwidth",
        Source("bandwidth_efficiency", SQL),
        "Bandwidth efficiency, worst first",
        {"bytes_per_s": "efficiency_share"},
    )
    if shares is None:
        return Section(
            "bandwidth",
            title,
            explanation,
            empty="Nothing that moved bytes was captured; capture with 'nsys profile "
            "--trace=cuda,nvtx', or add profiles of ncu, telemetry, or benchmarks of the links.",
        )
    differing = table(
        connection,
        "reference_disagreement",
        Source("reference_disagreement", DISAGREEMENT_SQL),
        "Where traces differ from the data sheet of the GPU they name",
    )
    copies = fetch(connection, COPY_SQL)
    chart = Chart(
        "copy_bandwidth",
        "Large copies: lowest to highest device, and what the link or memory carries",
        "One row per direction and kinds of memory on a logarithmic axis of bytes per second: a "
        "bar from the slowest to the fastest device, and a tick at the reference where known.",
        Source("bandwidth_efficiency", COPY_SQL),
        draw(copies) if copies.height else {},
    )
    return Section(
        "bandwidth",
        title,
        explanation,
        charts=(chart,) if copies.height else (),
        tables=tuple(made for made in (shares, differing) if made is not None),
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    names = ("lowest_bytes_per_s", "highest_bytes_per_s", "reference_bytes_per_s")
    frame = charts.shown(frame, *names)
    axis = alt.Axis(title="bytes per second", format="~s", tickCount=6)
    # Devices that agree must look as if they do: the axis spans a factor of ten.
    seen = [value for name in names for value in frame.get_column(name).drop_nulls()]
    scale = alt.Scale(type="log", nice=False, domain=[min(seen) / 3.2, max(seen) * 3.2])
    base = alt.Chart(frame).encode(
        y=charts.rows(frame, "name"),
        tooltip=[
            alt.Tooltip("name:N"),
            *(alt.Tooltip(f"{name}_text:N", title=name.replace("_", " ")) for name in names),
        ],
    )

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    reached = base.mark_bar(height=10, color=charts.MEMORY, stroke=charts.MEMORY, strokeWidth=2)
    reference = base.transform_filter("isValid(datum.reference_bytes_per_s)").mark_tick(
        thickness=2, size=16, color="var(--text)"
    )
    return charts.spec(
        alt.layer(
            reached.encode(x=x("lowest_bytes_per_s"), x2="highest_bytes_per_s"),
            reference.encode(x=x("reference_bytes_per_s")),
        ),
        28 * frame.height,
    )
