"""What the devices did over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import COLLECT_GPU, DRAWN_DEVICES, Chart, Section, Source, fetch

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("traced_device", "nccl_time_share", "gpu_activity")

# Per mille are enough for a shade.
STRIP_SQL = f"""WITH {DRAWN_DEVICES}
SELECT
    d.device,
    round((a.start_ns - min(a.start_ns) OVER file) / 1e9, 9) AS start_s,
    round((a.end_ns - min(a.start_ns) OVER file) / 1e9, 9) AS end_s,
    round(a.busy_share, 3) AS busy_share,
    round(a.exposed_communication_share, 3) AS exposed_communication_share
FROM gpu_activity AS a
JOIN drawn_device AS d USING (source_id, process, device_id)
WINDOW file AS (PARTITION BY a.source_id)
ORDER BY d.position, a.window_index"""

BAND_SQL = """SELECT
    window_index,
    round(min(busy_share), 4) AS lowest_busy_share,
    round(median(busy_share), 4) AS median_busy_share,
    round(max(busy_share), 4) AS highest_busy_share,
    round(min(exposed_communication_share), 4) AS lowest_exposed_share,
    round(median(exposed_communication_share), 4) AS median_exposed_share,
    round(max(exposed_communication_share), 4) AS highest_exposed_share
FROM gpu_activity
GROUP BY window_index
ORDER BY window_index"""

COUNT_SQL = f"""WITH {DRAWN_DEVICES}
SELECT
    (SELECT count(*) FROM labelled_device) AS device_count,
    (SELECT count(*) FROM drawn_device) AS drawn_count"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Activity over time",
        "The capture of each file, cut into equal windows (threshold activity_window_count). "
        "Busy share: any activity / length of the window. Exposed communication share: "
        "communication with no compute beside it / length of the window. Time runs from the "
        "first activity of the device's file.",
    )
    frame = fetch(connection, STRIP_SQL)
    if frame.is_empty():
        return Section("activity", title, explanation, empty=COLLECT_GPU)
    ((device_count, drawn_count),) = connection.execute(COUNT_SQL).fetchall()
    strips = Source("gpu_activity", STRIP_SQL)
    made = [
        Chart(
            "activity_busy",
            "Busy share by device: pale is 0 %, full colour 100 %",
            "Heat strips, one row per device: the stronger a window's colour, the larger its "
            "busy share.",
            strips,
            draw_strips(frame, "busy_share", charts.COMPUTE),
        ),
        Chart(
            "activity_exposed",
            "Exposed communication share by device: pale is 0 %, full colour 100 %",
            "Heat strips, one row per device: the stronger a window's colour, the larger its "
            "share of exposed communication.",
            strips,
            draw_strips(frame, "exposed_communication_share", charts.COMMUNICATION),
        ),
    ]
    notes: tuple[str, ...] = ()
    if drawn_count < device_count:
        bands = fetch(connection, BAND_SQL)
        for name, colour, words in (
            ("busy", charts.COMPUTE, "Busy share"),
            ("exposed", charts.COMMUNICATION, "Exposed communication share"),
        ):
            made.append(
                Chart(
                    f"activity_{name}_band",
                    f"{words} over all devices: median, lowest and highest by window",
                    f"{words} by window: a line for the median device inside a band from the "
                    "lowest to the highest.",
                    Source("gpu_activity", BAND_SQL),
                    draw_band(bands, name, colour),
                )
            )
        notes = (
            f"{drawn_count} of {device_count} devices are drawn, evenly spaced in the order of "
            "busy_share; the bands below are over all of them.",
        )
    return Section("activity", title, explanation, charts=tuple(made), notes=notes)


def draw_strips(frame: pl.DataFrame, field: str, colour: str) -> dict[str, object]:
    narrow = frame.select("device", "start_s", "end_s", field)
    chart = (
        alt.Chart(charts.compact(narrow))
        .mark_rect(color=colour)
        .encode(
            y=charts.rows(frame, "device", scale=alt.Scale(paddingInner=0.14)),
            x=alt.X(
                "start_s:Q",
                scale=alt.Scale(domainMin=0, nice=False),
                axis=charts.seconds_axis("time since the first activity", grid=False),
            ),
            x2="end_s:Q",
            fillOpacity=alt.FillOpacity(
                f"{field}:Q",
                scale=alt.Scale(domain=[0, 1], range=[0.06, 1]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("start_s:Q", title="start, s"),
                alt.Tooltip(f"{field}:Q", title=field.replace("_", " "), format=".1%"),
            ],
        )
    )
    return charts.spec(chart, charts.ROW_HEIGHT * frame.get_column("device").n_unique())


def draw_band(frame: pl.DataFrame, name: str, colour: str) -> dict[str, object]:
    base = alt.Chart(charts.compact(frame)).encode(
        x=alt.X(
            "window_index:Q",
            axis=alt.Axis(title="window", grid=False, tickMinStep=1),
            scale=alt.Scale(nice=False),
        )
    )
    y_axis = charts.share_axis("share of window", tickCount=3)
    scale = alt.Scale(domain=[0, 1])
    band = base.mark_area(color=colour, opacity=0.25, interpolate="step").encode(
        y=alt.Y(f"lowest_{name}_share:Q", axis=y_axis, scale=scale),
        y2=f"highest_{name}_share:Q",
    )
    line = base.mark_line(color=colour, strokeWidth=1.5, interpolate="step").encode(
        y=alt.Y(f"median_{name}_share:Q", axis=y_axis, scale=scale)
    )
    return charts.spec(alt.layer(band, line), 110)
