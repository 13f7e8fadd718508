"""What the devices did over time."""

from __future__ import annotations

import altair as alt
import duckdb

from pipeline.report.charts import (
    COMPUTE,
    EXPOSED_COMMUNICATION,
    ROW_HEIGHT,
    share_axis,
    specification,
)
from pipeline.report.section import DEVICE_NAME, Chart, Section, frame, one, table

VIEW = "gpu_activity"

# More rows than this are a texture that nobody reads, and megabytes of page.
_MOST_DEVICES = 32

_COUNT = "SELECT count(DISTINCT (source_id, process, device_id)) FROM page.gpu_activity"
_BY_DEVICE = f"""
    SELECT {DEVICE_NAME} AS device, start_ns / 1e9 AS start_s, end_ns / 1e9 AS end_s,
        round(busy_share, 4) AS busy,
        round(exposed_communication_share, 4) AS exposed
    FROM page.gpu_activity
    ORDER BY rank, host, process, device_id, window_index
"""
_OVER_DEVICES = """
    SELECT start_ns / 1e9 AS start_s,
        round(min(busy_share), 4) AS least, round(median(busy_share), 4) AS middle,
        round(max(busy_share), 4) AS most,
        round(median(exposed_communication_share), 4) AS exposed
    FROM page.gpu_activity
    GROUP BY window_index, start_s
    ORDER BY start_s
"""
_TABLE = f"""
    SELECT {DEVICE_NAME} AS device, count(*) AS window_count,
        any_value(end_ns - start_ns) AS window_ns, min(busy_share) AS min_busy_share,
        median(busy_share) AS median_busy_share, max(busy_share) AS max_busy_share,
        max(exposed_communication_share) AS max_exposed_communication_share
    FROM page.gpu_activity
    GROUP BY ALL
    ORDER BY median_busy_share, device
"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    rows = table(connection, _TABLE, "Busy share of the windows, per device")
    (devices,) = one(connection, _COUNT)
    charts = []
    if rows.total:
        charts = [_strips(connection)] if devices <= _MOST_DEVICES else [_band(connection)]
    return Section(
        key="activity",
        title="Activity over time",
        lead="Each cell is one of equal windows over the capture: busy time in it / its length, "
        "and below, communication with no compute beside it / its length. Times are seconds "
        "since each capture began.",
        view=VIEW,
        tables=[rows] if rows.total else [],
        charts=charts,
        empty="No GPU activity was captured.",
    )


def _strips(connection: duckdb.DuckDBPyConnection) -> Chart:
    data = frame(connection, _BY_DEVICE)
    base = alt.Chart(height=alt.Step(ROW_HEIGHT)).encode(
        y=alt.Y("device:N", sort=None, title=None),
        x=alt.X("start_s:Q", title="s", scale=alt.Scale(nice=False)),
        x2="end_s:Q",
        tooltip=[
            "device:N",
            alt.Tooltip("start_s:Q", format=",.4f", title="s"),
            alt.Tooltip("busy:Q", format=".1%"),
            alt.Tooltip("exposed:Q", format=".1%", title="exposed communication"),
        ],
    )
    busy = _coloured(base, "busy", COMPUTE, "busy")
    exposed = _coloured(base, "exposed", EXPOSED_COMMUNICATION, "exposed communication")
    chart = alt.vconcat(busy, exposed, data=data).resolve_scale(color="independent")
    return Chart(
        specification(chart), "Heat strips: busy share and exposed communication per device"
    )


def _coloured(base: alt.Chart, field: str, colour: str, title: str) -> alt.Chart:
    # From transparent to full colour, so that an idle window has the colour of the page.
    strip: alt.Chart = (
        base.mark_rect(color=colour)
        .encode(
            opacity=alt.Opacity(
                f"{field}:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 1]), legend=None
            )
        )
        .properties(title=alt.Title(title, anchor="start"), width="container")
    )
    return strip


def _band(connection: duckdb.DuckDBPyConnection) -> Chart:
    base = alt.Chart(frame(connection, _OVER_DEVICES), height=160).encode(
        x=alt.X("start_s:Q", title="s")
    )
    spread = base.mark_area(color=COMPUTE, opacity=0.25).encode(y="least:Q", y2="most:Q")
    middle = base.mark_line(color=COMPUTE).encode(
        y=alt.Y("middle:Q", axis=share_axis("busy: least, median, most of all devices"))
    )
    exposed = base.mark_line(color=EXPOSED_COMMUNICATION).encode(y="exposed:Q")
    chart = alt.layer(spread, middle, exposed).properties(width="container")
    return Chart(
        specification(chart), "Busy share over time, least, median and most of all devices"
    )
