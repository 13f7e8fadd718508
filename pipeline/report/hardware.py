"""The state of the hardware: slowdowns, clocks and power, health, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import DEVICES_DRAWN, Chart, Section, Source, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = (
    "throttle_event",
    "clock_summary",
    "fleet_minority",
    "hardware_error",
    "run_energy",
)

# How a table names a GPU.
_GPU = "concat_ws(' ', host, coalesce('GPU ' || device_id, gpu_id)) AS gpu"

EVENT_SQL = """SELECT
    limited_by, scope, place, gpu_count, run_gpu_count, start_utc_ns, into_run_ns, dur_ns,
    min_clock_hz, fallen_share, max_temperature_celsius, inside_step_ns, outside_step_ns,
    throughput_loss_share, lost_ns, cost_reason, gpus
FROM throttle_event
ORDER BY lost_ns DESC NULLS LAST, dur_ns DESC NULLS LAST, event"""

# Whoever was slowed down most comes first; of equal ones, the slowest clock.
CLOCK_SQL = f"""SELECT
    {_GPU}, coverage_share, active_share, median_clock_hz, own_clock_hz, peer_clock_hz,
    throttled_share, power_brake_share, thermal_share, unexplained_share, power_cap_share,
    mean_power_w, power_limit_w, max_temperature_celsius
FROM clock_summary
WHERE is_primary
ORDER BY throttled_share DESC NULLS LAST, median_clock_hz, host, gpu_id, source_id"""

CHART_SQL = f"""WITH first AS (
    FROM ({CLOCK_SQL}) WHERE throttled_share IS NOT NULL LIMIT {DEVICES_DRAWN}
)
SELECT gpu, part, part_share
FROM (
    SELECT gpu, unnest([
        {{'part_position': 1, 'part': 'power brake', 'part_share': power_brake_share}},
        {{'part_position': 2, 'part': 'temperature', 'part_share': thermal_share}},
        {{'part_position': 3, 'part': 'no known reason', 'part_share': unexplained_share}}
    ], recursive := true)
    FROM first
)
WHERE part_share > 0
ORDER BY gpu, part_position"""

FLEET_SQL = """SELECT
    measure, direction, minority_count, gpu_count, fleet_mean AS mean_value,
    fleet_median AS median_value, minority_median AS minority_value, difference_share, gpus
FROM fleet_minority
ORDER BY abs(difference_share) DESC NULLS LAST, gpu_name, measure, direction"""

ERROR_SQL = f"""SELECT
    {_GPU}, entity_id, error, severity, role, occurrences, peak_window_count, first_utc_ns,
    first_ns, detail, action
FROM hardware_error
WHERE is_over
ORDER BY
    list_position(['critical', 'error', 'warning'], severity),
    role = 'consequence', first_ns, host, gpu_id, entity, entity_id, error, source_id"""

ENERGY_SQL = """SELECT
    gpu_count, sampled_gpu_count, coverage_share, energy_kwh, mean_power_w, idle_share,
    pue_ratio, pue_source, price_per_kwh, price_source, cost, currency, step_j, token_j,
    step_reason
FROM run_energy
ORDER BY gpu_count"""

COLOURS = {
    "power brake": charts.COMMUNICATION,
    "temperature": charts.MEMORY,
    "no known reason": charts.IDLE,
}


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Hardware",
        "State of the GPUs while the job ran, from telemetry. A slowdown is a lower clock under "
        "work, or a reason that the hardware gives; idle clocks, clocks that somebody set and the "
        "power cap at full power are none. GPUs of one place at one time are one event, and its "
        "cost is the median step inside against the median step outside.",
    )
    made = (
        table(connection, "throttle_events", Source("throttle_event", EVENT_SQL), "Slowdowns"),
        table(
            connection,
            "clocks",
            Source("clock_summary", CLOCK_SQL),
            "Clocks, power and temperature by GPU",
            {"throttled_share": "throttled_share", "active_share": "active_share"},
        ),
        table(
            connection,
            "minorities",
            Source("fleet_minority", FLEET_SQL),
            "GPUs that differ from the rest",
        ),
        table(connection, "errors", Source("hardware_error", ERROR_SQL), "Errors"),
        table(connection, "energy", Source("run_energy", ENERGY_SQL), "Energy of the GPUs"),
    )
    tables = tuple(one for one in made if one is not None)
    if not tables:
        return Section(
            "hardware",
            title,
            explanation,
            empty="No telemetry was captured; record it beside the job with 'dcgmi dmon', "
            "dcgm-exporter or 'nvidia-smi --query-gpu', and ingest it with the run.",
        )
    frame = fetch(connection, CHART_SQL)
    chart = Chart(
        "throttling",
        "Share of the samples with a clock held down, by what held it",
        "Stacked bars, one per GPU: share of its samples slowed down by the power brake, by "
        "temperature and for no known reason. The tables below have the numbers.",
        Source("clock_summary", CHART_SQL),
        draw(frame),
    )
    return Section(
        "hardware", title, explanation, charts=() if frame.is_empty() else (chart,), tables=tables
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    chart = (
        alt.Chart(frame)
        .mark_bar(height={"band": 0.72})
        .encode(
            y=charts.rows(frame, "gpu"),
            x=alt.X("part_share:Q", axis=charts.share_axis("share of samples")),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
            ),
            tooltip=[
                alt.Tooltip("gpu:N"),
                alt.Tooltip("part:N"),
                alt.Tooltip("part_share:Q", title="share", format=".1%"),
            ],
        )
    )
    return charts.spec(chart, charts.ROW_HEIGHT * frame.get_column("gpu").n_unique())
