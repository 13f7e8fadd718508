"""Curves of collective benchmarks: busbw against size, their health, slow hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import Chart, Section, Source, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = (
    "benchmark_point",
    "collective_baseline",
    "collective_curve",
    "collective_efficiency",
    "nominal_busbw",
    "slow_host",
)

# More curves in one chart than a person tells apart; those with the most sizes are drawn.
CURVES_DRAWN = 12

POINT_SQL = f"""WITH labelled AS (
    SELECT
        c.*,
        concat_ws(
            ', ', c.operation, c.rank_count || ' ranks', c.host_count || ' hosts',
            CASE WHEN c.is_in_place THEN 'in place' END, coalesce(f.path, c.run_id),
            CASE WHEN c.benchmark_id > 0 THEN 'test ' || c.benchmark_id END,
            CASE WHEN c.sweep > 0 THEN 'pass ' || c.sweep END
        ) AS curve
    FROM collective_curve AS c
    LEFT JOIN source_file AS f USING (run_id, source_id)
    ORDER BY
        c.point_count DESC, c.is_in_place, f.path, c.benchmark_id, c.sweep
    LIMIT {CURVES_DRAWN}
)
SELECT
    l.curve,
    p.size_bytes,
    p.busbw_bytes_per_s,
    l.plateau_busbw_bytes_per_s AS plateau_bytes_per_s,
    n.bytes_per_s AS nominal_bytes_per_s,
    NULL AS baseline_bytes_per_s
FROM labelled AS l
JOIN benchmark_point AS p
    ON p.run_id = l.run_id
    AND p.source_id = l.source_id
    AND p.benchmark_id = l.benchmark_id
    AND p.sweep = l.sweep
    AND p.is_in_place IS NOT DISTINCT FROM l.is_in_place
LEFT JOIN nominal_busbw AS n
    ON n.run_id = p.run_id
    AND n.operation = p.operation
    AND n.rank_count IS NOT DISTINCT FROM p.rank_count
    AND n.host_count IS NOT DISTINCT FROM p.host_count
    AND n.gpu IS NOT DISTINCT FROM p.gpu
UNION ALL
SELECT
    'job: ' || operation || ', ' || rank_count || ' ranks',
    message_bytes,
    median(busbw_bytes_per_s),
    NULL,
    any_value(reference_bytes_per_s) FILTER (reference_source LIKE 'nominal%'),
    any_value(reference_bytes_per_s) FILTER (reference_source LIKE 'benchmark%')
FROM collective_efficiency
WHERE busbw_bytes_per_s IS NOT NULL
GROUP BY operation, rank_count, message_bytes
ORDER BY 1, 2"""

CURVE_SQL = """SELECT
    c.operation,
    c.rank_count,
    c.host_count,
    c.is_in_place,
    c.verdict,
    c.peak_busbw_bytes_per_s AS peak_bytes_per_s,
    c.plateau_busbw_bytes_per_s AS plateau_bytes_per_s,
    c.asymptotic_busbw_bytes_per_s AS fitted_bytes_per_s,
    c.latency_ns,
    c.residual_share,
    c.collapse_count,
    c.point_count,
    coalesce(f.path, c.run_id) AS path
FROM collective_curve AS c
LEFT JOIN source_file AS f USING (run_id, source_id)
ORDER BY
    c.operation, c.rank_count, c.host_count, c.is_in_place, f.path, c.benchmark_id, c.sweep"""

HOST_SQL = """SELECT
    host, operation, verdict, slow_count, healthy_count,
    median_busbw_bytes_per_s AS median_bytes_per_s,
    best_busbw_bytes_per_s AS best_bytes_per_s,
    slow_sets
FROM slow_host
ORDER BY
    list_position(['slow', 'suspect', 'link', 'cannot tell', 'healthy'], verdict),
    host, operation"""

CAUSE_SQL = """SELECT
    operation,
    message_bytes,
    rank_count,
    cause,
    count(*) AS collective_count,
    median(transfer_ns) AS transfer_ns,
    median(expected_ns) AS expected_ns,
    median(mean_wait_ns) AS mean_wait_ns,
    median(efficiency_share) AS efficiency_share,
    any_value(expected_source) AS expected_source,
    any_value(reference_source) AS reference_source,
    any_value(reason) AS reason
FROM collective_efficiency
GROUP BY operation, message_bytes, rank_count, cause
ORDER BY operation, message_bytes, rank_count, cause"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Collective bandwidth",
        "Busbw of the cluster's own benchmarks and of the job's collectives. The plateau is the "
        "median of the sizes within a tenth of the peak; latency and fitted bandwidth are of "
        "time = latency + size / bandwidth, with the residual of that fit. A host is slow if all "
        "slow sets have it in common and no healthy one. Nominal links may be exceeded by NVLS "
        "and trees.",
    )
    made = (
        ("collective_cause", "collective_efficiency", CAUSE_SQL, "Where collectives lose time"),
        ("curves", "collective_curve", CURVE_SQL, "Health of the benchmarks' curves"),
        ("slow_hosts", "slow_host", HOST_SQL, "Hosts by the sets they were measured in"),
    )
    tables = [table(connection, name, Source(view, sql), text) for name, view, sql, text in made]
    frame = fetch(connection, POINT_SQL)
    chart = Chart(
        "busbw",
        "Busbw against size: benchmarks, the job and its baseline (ticks), plateau (dashed), "
        "nominal link (dotted)",
        "One line per curve of a benchmark on logarithmic axes of message size and busbw, with "
        "points at the sizes measured; a dashed line at its plateau, a dotted one at the nominal "
        "link, points for the job's own collectives, and ticks at what the benchmark of the "
        "cluster reached at their sizes.",
        Source("collective_curve", POINT_SQL),
        draw(frame) if frame.height else {},
    )
    shown = tuple(one for one in tables if one is not None)
    return Section(
        "benchmarks",
        title,
        explanation,
        charts=(chart,) if frame.height else (),
        tables=shown,
        empty=""
        if shown
        else "No benchmark of collectives and no collectives of several ranks were captured; "
        "put a log of nccl-tests into the run, and capture every rank.",
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "busbw_bytes_per_s", "size_bytes")
    base = alt.Chart(frame).encode(color=alt.Color("curve:N", title=None))
    scale = alt.Scale(type="log", nice=False, padding=12)
    rate = alt.Axis(title="busbw, bytes per second", format="~s", tickCount=6)
    size = alt.X(
        "size_bytes:Q", scale=scale, axis=alt.Axis(title="message", format="~s", tickCount=8)
    )
    lines = base.mark_line(point=True).encode(
        x=size,
        y=alt.Y("busbw_bytes_per_s:Q", scale=scale, axis=rate),
        tooltip=[
            alt.Tooltip("curve:N"),
            alt.Tooltip("size_bytes_text:N", title="size"),
            alt.Tooltip("busbw_bytes_per_s_text:N", title="busbw"),
        ],
    )
    rules = [
        base.transform_filter(f"isValid(datum.{field})")
        .mark_rule(strokeDash=dash, opacity=0.6)
        .encode(y=alt.Y(f"{field}:Q", scale=scale, axis=rate))
        for field, dash in (("plateau_bytes_per_s", [6, 4]), ("nominal_bytes_per_s", [1, 3]))
    ]
    baseline = (
        base.transform_filter("isValid(datum.baseline_bytes_per_s)")
        .mark_tick(thickness=2, size=14, orient="horizontal")
        .encode(x=size, y=alt.Y("baseline_bytes_per_s:Q", scale=scale, axis=rate))
    )
    return charts.spec(alt.layer(lines, baseline, *rules), 340)
