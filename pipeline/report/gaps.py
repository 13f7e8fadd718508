"""How long, how often and where the GPU was idle."""

from __future__ import annotations

import altair as alt
import duckdb

from pipeline.report.charts import IDLE, specification
from pipeline.report.section import Chart, Section, frame, table

VIEW = "kernel_gap_summary"

_DEVICE = """
    coalesce('rank ' || rank, 'process ' || process, gpu_id)
    || CASE WHEN host IS NULL THEN '' ELSE ' on ' || host END
    || coalesce(', GPU ' || device_id, '') AS device
"""
_TABLE = f"""
    SELECT {_DEVICE}, gap_count, gap_ns, gap_share, idle_count, idle_ns, idle_share,
        median_ns, p90_ns, p99_ns, max_ns
    FROM page.kernel_gap_summary
    ORDER BY idle_share DESC, device
"""
_LONGEST = """
    SELECT coalesce('rank ' || rank, 'process ' || process) AS device, start_ns, dur_ns,
        before_kind, before_name, after_kind, after_name
    FROM kernel_gap
    ORDER BY dur_ns DESC, device, start_ns
    LIMIT 15
"""
_HISTOGRAM = """
    WITH bucket AS (SELECT unnest(histogram) AS b FROM page.kernel_gap_summary)
    SELECT b.lower_ns / 1e3 AS from_us, 2 * b.lower_ns / 1e3 AS to_us,
        sum(b.idle_count)::BIGINT AS intervals, sum(b.idle_ns)::BIGINT / 1e6 AS ms
    FROM bucket
    GROUP BY b.lower_ns
    ORDER BY b.lower_ns
"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    rows = table(connection, _TABLE, "Idle intervals per GPU")
    longest = table(connection, _LONGEST, "The longest gaps, and what ran before and after")
    return Section(
        key="gaps",
        title="Idle time and gaps",
        lead="Idle intervals between two activities of a GPU, all streams. A gap is one of at "
        "least threshold kernel_gap_ns; shorter ones count in idle time. Shares are of the span.",
        view=VIEW,
        tables=[part for part in (rows, longest) if part.total],
        charts=[_chart(connection)] if rows.total else [],
        empty="No GPU activity was captured.",
    )


def _chart(connection: duckdb.DuckDBPyConnection) -> Chart:
    chart = (
        alt.Chart(frame(connection, _HISTOGRAM), height=180)
        .mark_bar(color=IDLE, binSpacing=1)
        .encode(
            x=alt.X(
                "from_us:Q",
                scale=alt.Scale(type="log", nice=False),
                title="length of the idle interval, us (bins double)",
            ),
            x2="to_us:Q",
            y=alt.Y("ms:Q", title="total idle time, ms"),
            y2=alt.datum(0),  # beside x and x2 a bar has no base of its own
            tooltip=[
                alt.Tooltip("from_us:Q", format=",.3f", title="from us"),
                alt.Tooltip("to_us:Q", format=",.3f", title="to us"),
                alt.Tooltip("intervals:Q", format=","),
                alt.Tooltip("ms:Q", format=",.3f"),
            ],
        )
        .properties(width="container")
    )
    return Chart(specification(chart), "Histogram: total idle time by length of the interval")
