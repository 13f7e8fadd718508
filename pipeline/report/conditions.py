"""Use, clocks, power and temperature of the GPUs over time: what lay under the activity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import Chart, Section, Source, fetch

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("utilisation_window",)

# Times of different clocks do not compare: the clock that most GPUs are on is drawn.
SQL = """WITH widest AS (
    SELECT clock
    FROM utilisation_window
    GROUP BY clock
    ORDER BY max(run_gpu_count) DESC, count(*) DESC, clock
    LIMIT 1
)
SELECT
    metric,
    round((start_ns - min(start_ns) OVER ()) / 1e9, 3) AS start_s,
    min_value,
    median_value,
    max_value,
    gpu_count
FROM utilisation_window
SEMI JOIN widest USING (clock)
ORDER BY metric, start_ns"""

COUNT_SQL = "SELECT count(DISTINCT clock) AS clock_count FROM utilisation_window"

# What is drawn, in the order of the page: caption, unit of the axis, its format, colour.
DRAWN = {
    "gpu_util_share": ("GPU-Util: some kernel was resident", "share", ".0%", charts.COMPUTE),
    "sm_active_share": ("SM active", "share", ".0%", charts.COMPUTE),
    "sm_clock_hz": ("SM clock", "Hz", "~s", charts.ACCENT),
    "power_w": ("Board power", "W", "~s", charts.COMMUNICATION),
    "temperature_celsius": ("Temperature", "°C", "~s", charts.MEMORY),
}


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Clocks and power over time",
        "Samples of telemetry in equal windows: a line for the median GPU inside a band from the "
        "lowest to the highest. A clock that falls while use does not change is a slowdown.",
    )
    frame = fetch(connection, SQL)
    if frame.is_empty():
        return Section(
            "conditions",
            title,
            explanation,
            empty="No telemetry with times was captured; record clocks and power with "
            "'dcgmi dmon', dcgm-exporter or 'nvidia-smi --query-gpu --format=csv -lms 1000'.",
        )
    made = []
    for metric, (words, unit, axis, colour) in DRAWN.items():
        part = frame.filter(frame.get_column("metric") == metric)
        if not part.is_empty():
            made.append(
                Chart(
                    f"conditions_{metric}",
                    f"{words}: median, lowest and highest GPU",
                    f"{words} over time: a line for the median GPU inside a band from the lowest "
                    "to the highest GPU.",
                    Source("utilisation_window", SQL),
                    draw(part, unit, axis, colour),
                    is_narrow=True,
                )
            )
    ((clocks,),) = connection.execute(COUNT_SQL).fetchall()
    notes = (f"Telemetry is on {clocks} clocks, of which the one with most GPUs is drawn.",)
    return Section(
        "conditions",
        title,
        explanation,
        charts=tuple(made),
        notes=notes if clocks > 1 else (),
    )


def draw(frame: pl.DataFrame, unit: str, axis_format: str, colour: str) -> dict[str, object]:
    narrow = frame.select("start_s", "min_value", "median_value", "max_value", "gpu_count")
    # One sample has no line; its point is seen all the same.
    base = alt.Chart(charts.compact(narrow)).encode(
        x=alt.X(
            "start_s:Q",
            scale=alt.Scale(nice=False),
            axis=charts.seconds_axis("time since the first sample", grid=False, tickCount=5),
        )
    )
    axis = alt.Axis(title=unit, format=axis_format, tickCount=4)
    scale = alt.Scale(domain=[0, 1]) if unit == "share" else alt.Scale(zero=False)
    band = base.mark_area(color=colour, opacity=0.25).encode(
        y=alt.Y("min_value:Q", axis=axis, scale=scale), y2="max_value:Q"
    )
    line = base.mark_line(
        color=colour, strokeWidth=1.5, point={"size": 8, "color": colour, "filled": True}
    ).encode(
        y=alt.Y("median_value:Q", axis=axis, scale=scale),
        tooltip=[
            alt.Tooltip("start_s:Q", title="time, s"),
            alt.Tooltip("min_value:Q", title="lowest", format=axis_format),
            alt.Tooltip("median_value:Q", title="median", format=axis_format),
            alt.Tooltip("max_value:Q", title="highest", format=axis_format),
            alt.Tooltip("gpu_count:Q", title="GPUs"),
        ],
    )
    return charts.spec(alt.layer(band, line), 120)
