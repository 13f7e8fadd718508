"""Idle time between activities, by length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import COLLECT_GPU, Chart, Section, Source, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("kernel_gap_summary",)

# Empty bins between full ones are drawn too.
CHART_SQL = """WITH counted AS (
    SELECT bin.lower_ns, sum(bin.idle_count) AS idle_count, sum(bin.idle_ns) AS idle_ns
    FROM (SELECT unnest(histogram) AS bin FROM kernel_gap_summary)
    GROUP BY bin.lower_ns
),
bin AS (
    SELECT 1::BIGINT << exponent::INTEGER AS lower_ns
    FROM range(62) AS powers(exponent)
)
SELECT
    lower_ns,
    lower_ns * 2 AS upper_ns,
    lower_ns * 2 > threshold_of('kernel_gap_ns') AS is_gap,
    coalesce(c.idle_count, 0)::BIGINT AS idle_count,
    coalesce(c.idle_ns, 0)::BIGINT AS idle_ns,
    coalesce(c.idle_ns, 0) / 1e9 AS idle_s
FROM bin
LEFT JOIN counted AS c USING (lower_ns)
WHERE lower_ns BETWEEN (SELECT min(lower_ns) FROM counted) AND (SELECT max(lower_ns) FROM counted)
ORDER BY lower_ns"""

TABLE_SQL = """SELECT
    CASE WHEN rank IS NOT NULL AND count(*) OVER (PARTITION BY rank) = 1
        THEN 'rank ' || rank
        ELSE concat_ws(' ', 'rank ' || rank, host, 'device ' || device_id)
    END AS gpu,
    gap_share,
    gap_count,
    gap_ns,
    idle_share,
    idle_count,
    idle_ns,
    min_ns,
    median_ns,
    p90_ns,
    p99_ns,
    max_ns
FROM kernel_gap_summary
ORDER BY rank, host, gpu_id, source_id"""

SHORT, LONG = "shorter than kernel_gap_ns", "reaches kernel_gap_ns"


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Gaps",
        "Intervals in which a physical GPU did nothing between two activities, of any process "
        "and on any stream. A gap is one of at least kernel_gap_ns. gap share and idle share: "
        "their total / span of the GPU.",
    )
    source = Source("kernel_gap_summary", TABLE_SQL)
    summary = table(
        connection,
        "gaps",
        source,
        "Idle intervals by GPU",
        {"gap_share": "gap_share", "idle_share": "idle_share"},
    )
    if summary is None:
        return Section("gaps", title, explanation, empty=COLLECT_GPU)
    frame = fetch(connection, CHART_SQL)
    drawn = Source("kernel_gap_summary", CHART_SQL)
    made = (
        Chart(
            "gap_time",
            "Idle time by length of the interval, all GPUs",
            "Bars by length of idle interval, in powers of two: their total time.",
            drawn,
            draw(frame, "idle_ns"),
            is_narrow=True,
        ),
        Chart(
            "gap_count",
            "Idle intervals by their length, all GPUs",
            "Bars by length of idle interval, in powers of two: how many there are.",
            drawn,
            draw(frame, "idle_count"),
            is_narrow=True,
        ),
    )
    return Section(
        "gaps",
        title,
        explanation,
        charts=made if not frame.is_empty() else (),
        tables=(summary,),
        notes=("No idle interval was found between activities.",) if frame.is_empty() else (),
    )


def draw(frame: pl.DataFrame, field: str) -> dict[str, object]:
    frame = charts.shown(frame, "lower_ns", "upper_ns", "idle_ns", "idle_count")
    is_time = field == "idle_ns"
    chart = (
        alt.Chart(frame)
        .transform_calculate(length=f"datum.is_gap ? '{LONG}' : '{SHORT}'")
        .mark_bar(width={"band": 0.86})
        .encode(
            x=alt.X(
                "lower_ns_text:N",
                sort=frame.get_column("lower_ns_text").to_list(),
                axis=alt.Axis(
                    title="length, from",
                    labelAngle=0,
                    labelOverlap="greedy",
                    labelSeparation=8,
                    grid=False,
                ),
            ),
            y=alt.Y(
                "idle_s:Q" if is_time else "idle_count:Q",
                axis=charts.seconds_axis("total idle time", tickCount=4)
                if is_time
                else alt.Axis(title="intervals", format="~s", tickCount=4),
            ),
            color=alt.Color(
                "length:N",
                title=None,
                scale=alt.Scale(domain=[LONG, SHORT], range=[charts.ACCENT, charts.IDLE]),
            ),
            tooltip=[
                alt.Tooltip("lower_ns_text:N", title="from"),
                alt.Tooltip("upper_ns_text:N", title="below"),
                alt.Tooltip("idle_count_text:N", title="intervals"),
                alt.Tooltip("idle_ns_text:N", title="total"),
            ],
        )
    )
    return charts.spec(chart, 130)
