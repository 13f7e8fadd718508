"""Training steps: how long they take and where their time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import LABELLED_DEVICES, Chart, Section, Source, fetch, table
from pipeline.report.time_split import PARTS

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("traced_device", "step_time")

# More bars than a page has room for are drawn as means of neighbouring steps.
STEPS_DRAWN = 120

CHART_SQL = f"""WITH ordered AS (
    SELECT *, dense_rank() OVER (ORDER BY step) AS place
    FROM step_time
    WHERE process IS NOT NULL
),
grouped AS (
    SELECT *, (place - 1) // ceil((SELECT max(place) FROM ordered) / {STEPS_DRAWN})::BIGINT AS bar
    FROM ordered
),
part AS (
    SELECT bar, step, exclusion, unnest([
        {{'part_position': 1, 'part': 'compute', 'part_ns': compute_ns - overlap_ns}},
        {{'part_position': 2, 'part': 'compute with communication beside it',
            'part_ns': overlap_ns}},
        {{'part_position': 3, 'part': 'exposed communication',
            'part_ns': exposed_communication_ns}},
        {{'part_position': 4, 'part': 'exposed memory', 'part_ns': exposed_memory_ns}},
        {{'part_position': 5, 'part': 'idle', 'part_ns': idle_ns}}
    ], recursive := true)
    FROM grouped
)
SELECT
    min(step) AS step,
    CASE WHEN min(step) = max(step) THEN min(step)::VARCHAR
        ELSE min(step) || ' to ' || max(step) END AS steps,
    part_position,
    part,
    avg(part_ns) AS part_ns,
    avg(part_ns) / 1e9 AS part_s,
    string_agg(DISTINCT exclusion, ', ' ORDER BY exclusion) AS exclusion
FROM part
GROUP BY bar, part_position, part
ORDER BY step, part_position"""

TABLE_SQL = f"""WITH {LABELLED_DEVICES}
SELECT
    d.device,
    count(*) FILTER (t.exclusion IS NULL) AS step_count,
    median(t.step_ns) FILTER (t.exclusion IS NULL) AS median_step_ns,
    quantile_cont(t.step_ns, 0.95) FILTER (t.exclusion IS NULL) AS p95_step_ns,
    max(t.step_ns) FILTER (t.exclusion IS NULL) AS longest_step_ns,
    avg(t.exposed_communication_share) FILTER (t.exclusion IS NULL)
        AS exposed_communication_share,
    avg(t.idle_share) FILTER (t.exclusion IS NULL) AS idle_share,
    any_value(t.origin) AS origin,
    any_value(t.confidence) AS confidence,
    string_agg('step ' || t.step || ': ' || t.exclusion, ', ' ORDER BY t.step) AS left_out
FROM step_time AS t
JOIN labelled_device AS d USING (source_id, process, device_id)
GROUP BY d.position, d.device
ORDER BY d.position"""

EMPTY = (
    "No steps were found: no NVTX range is called like one, no training log tells their times "
    "on the capture's clock, and kernels repeat in no clear sequence. Name them with "
    "torch.cuda.nvtx.range_push('step 12') or the like and capture again, or give the pattern "
    "of their names in run.toml ([steps] pattern)."
)


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Steps",
        "Training steps on the devices. A step lasts from the end of the previous step's work "
        "to the end of its own, so idle time belongs to the step that it delays. Warm-up steps, "
        "steps in which the profiler itself was busy, and steps that the capture cuts off are "
        "left out of the table's numbers and named in its last column.",
    )
    source = Source("step_time", TABLE_SQL)
    summary = table(
        connection,
        "steps",
        source,
        "Steps by device",
        {
            "exposed_communication_share": "exposed_communication_share",
            "idle_share": "idle_share",
        },
    )
    if summary is None:
        return Section("steps", title, explanation, empty=EMPTY)
    frame = fetch(connection, CHART_SQL)
    chart = Chart(
        "steps",
        "Mean over devices of each step's time, by what it went to",
        "Stacked bars, one per step: the mean over devices of its time in compute, compute with "
        "communication beside it, exposed communication, exposed memory and idle. The table "
        "below has the times by device.",
        Source("step_time", CHART_SQL),
        draw(frame),
    )
    return Section("steps", title, explanation, charts=(chart,), tables=(summary,))


def draw(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "part_ns")
    chart = (
        alt.Chart(frame)
        .mark_bar(width={"band": 0.86})
        .encode(
            x=alt.X(
                "steps:N",
                sort=frame.get_column("steps").unique(maintain_order=True).to_list(),
                axis=alt.Axis(title="step", labelAngle=0, labelOverlap="greedy", grid=False),
            ),
            y=alt.Y("part_s:Q", axis=charts.seconds_axis("time", tickCount=4)),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())),
            ),
            order=alt.Order("part_position:Q"),
            opacity=alt.condition("isValid(datum.exclusion)", alt.value(0.45), alt.value(1)),
            tooltip=[
                alt.Tooltip("steps:N", title="step"),
                alt.Tooltip("part:N"),
                alt.Tooltip("part_ns_text:N", title="time"),
                alt.Tooltip("exclusion:N", title="left out"),
            ],
        )
    )
    return charts.spec(chart, 170)
