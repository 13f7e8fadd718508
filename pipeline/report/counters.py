"""Hardware counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import Chart, Section, Source, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("gpu_sample_summary", "gpu_metric")

# Of codes, masks of reasons, settings and ever growing totals no average says anything.
SQL = """SELECT
    s.metric,
    count(*) AS gpu_count,
    sum(sample_count)::BIGINT AS sample_count,
    min(min_value) AS min_value,
    min(mean_value) AS lowest_mean_value,
    max(mean_value) AS highest_mean_value,
    min(median_value) AS lowest_median_value,
    max(median_value) AS highest_median_value,
    max(p95_value) AS highest_p95_value,
    max(max_value) AS max_value
FROM gpu_sample_summary AS s
LEFT JOIN gpu_metric AS m USING (metric)
WHERE coalesce(m.kind, 'gauge') IN ('gauge', 'rate')
GROUP BY s.metric
ORDER BY s.metric"""

CHART_SQL = f"""SELECT *, regexp_replace(metric, '_share$', '') AS counter
FROM ({SQL})
WHERE metric LIKE '%\\_share' ESCAPE '\\'
ORDER BY metric"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Hardware counters",
        "Samples of each GPU's counters over the capture; a share is of the counter's peak. "
        "Lowest and highest are of single GPUs. Codes, states and totals have no average.",
    )
    source = Source("gpu_sample_summary", SQL)
    counters = table(connection, "counters", source, "Counters, over all GPUs")
    if counters is None:
        return Section(
            "counters",
            title,
            explanation,
            empty="No hardware counters were captured; capture with "
            "'nsys profile --gpu-metrics-devices=all'.",
        )
    frame = fetch(connection, CHART_SQL)
    chart = Chart(
        "counters",
        "Shares of peak: least to most, band of the GPUs' means, and 95th percentile",
        "One row per counter: a thin line from the smallest to the largest sample, a band from "
        "the lowest to the highest mean of a GPU, and a tick at the highest 95th percentile.",
        Source("gpu_sample_summary", CHART_SQL),
        draw(frame),
    )
    return Section(
        "counters",
        title,
        explanation,
        charts=() if frame.is_empty() else (chart,),
        tables=(counters,),
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    base = alt.Chart(frame).encode(
        y=charts.rows(frame, "counter"),
        tooltip=[
            alt.Tooltip("metric:N"),
            alt.Tooltip("lowest_mean_value:Q", title="lowest mean", format=".1%"),
            alt.Tooltip("highest_mean_value:Q", title="highest mean", format=".1%"),
            alt.Tooltip("highest_p95_value:Q", title="highest p95", format=".1%"),
            alt.Tooltip("max_value:Q", title="max", format=".1%"),
        ],
    )

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=charts.share_axis("share"), scale=alt.Scale(domainMin=0))

    whole = base.mark_rule(color="var(--muted)", strokeWidth=1.5).encode(
        x=x("min_value"), x2="max_value"
    )
    means = base.mark_bar(
        height=8, color=charts.COMPUTE, stroke=charts.COMPUTE, strokeWidth=2
    ).encode(x=x("lowest_mean_value"), x2="highest_mean_value")
    p95 = base.mark_tick(thickness=2, size=14, color="var(--text)").encode(x=x("highest_p95_value"))
    return charts.spec(alt.layer(whole, means, p95), charts.ROW_HEIGHT * frame.height)
