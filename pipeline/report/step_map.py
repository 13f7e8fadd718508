"""Steps rank by rank: the exclusive split over time, and maps of own time and waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline import units
from pipeline.report import charts
from pipeline.report.section import LABELLED_DEVICES, Chart, Section, Source, fetch
from pipeline.report.time_split import PARTS

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("traced_device", "step_time", "rank_step")

# Rows of a map, and cells of a row; more are drawn as means of neighbouring steps.
RANKS_DRAWN, STEPS_DRAWN = 48, 100
# What full colour differs from pale at least, as a share of the least own time.
LEAST_CONTRAST = 0.1
Scale = tuple[float, float]
# Rows and steps of the timeline, whose marks are five to a step.
TIMELINE_RANKS, TIMELINE_STEPS = 12, 24

# Ranks with the most excess time first; what is drawn keeps the order of the ranks.
_DRAWN = f"""{LABELLED_DEVICES},
excess AS (
    SELECT t.source_id, t.process, t.device_id, sum(s.excess_ns) AS excess_ns
    FROM rank_step AS s
    JOIN traced_device AS t USING (device_key)
    GROUP BY ALL
),
drawn AS (
    SELECT d.*
    FROM labelled_device AS d
    JOIN excess AS e USING (source_id, process, device_id)
    QUALIFY row_number() OVER (ORDER BY e.excess_ns DESC, d.position) <= {{rows}}
)"""

MAP_SQL = f"""WITH {_DRAWN.format(rows=RANKS_DRAWN)},
placed AS (
    SELECT
        d.position, d.device, s.step, s.own_ns, s.exposed_wait_ns, s.excess_ns, s.is_critical,
        dense_rank() OVER (ORDER BY s.step) AS place
    FROM rank_step AS s
    JOIN traced_device AS t USING (device_key)
    JOIN drawn AS d
        ON d.source_id = t.source_id AND d.process = t.process AND d.device_id = t.device_id
),
cell AS (
    SELECT
        *,
        (place - 1) // ceil((SELECT max(place) FROM placed) / {STEPS_DRAWN})::BIGINT AS bar
    FROM placed
)
SELECT
    device,
    CASE WHEN min(min(step)) OVER bar = max(max(step)) OVER bar
        THEN (min(min(step)) OVER bar)::VARCHAR
        ELSE (min(min(step)) OVER bar) || ' to ' || (max(max(step)) OVER bar) END AS steps,
    avg(own_ns) AS own_ns,
    avg(exposed_wait_ns) AS exposed_wait_ns,
    avg(excess_ns) AS excess_ns,
    avg(own_ns) / 1e9 AS own_s,
    avg(exposed_wait_ns) / 1e9 AS wait_s,
    count(*) FILTER (is_critical) AS critical_count
FROM cell
GROUP BY position, device, bar
WINDOW bar AS (PARTITION BY bar)
ORDER BY position, bar"""

TIMELINE_SQL = f"""WITH {_DRAWN.format(rows=TIMELINE_RANKS)},
timed AS (
    SELECT
        d.position, d.device, t.step, t.step_ns, t.exclusion,
        t.begin_ns - min(t.begin_ns) OVER (PARTITION BY d.position) AS from_ns,
        dense_rank() OVER (ORDER BY t.step) AS place,
        t.compute_ns, t.overlap_ns, t.exposed_communication_ns, t.exposed_memory_ns, t.idle_ns
    FROM step_time AS t
    JOIN drawn AS d USING (source_id, process, device_id)
),
part AS (
    SELECT position, device, step, step_ns, exclusion, from_ns, unnest([
        {{'part_position': 1, 'part': 'compute', 'part_ns': compute_ns - overlap_ns}},
        {{'part_position': 2, 'part': 'compute with communication beside it',
            'part_ns': overlap_ns}},
        {{'part_position': 3, 'part': 'exposed communication',
            'part_ns': exposed_communication_ns}},
        {{'part_position': 4, 'part': 'exposed memory', 'part_ns': exposed_memory_ns}},
        {{'part_position': 5, 'part': 'idle', 'part_ns': idle_ns}}
    ], recursive := true)
    FROM timed
    WHERE place <= {TIMELINE_STEPS}
),
laid AS (
    SELECT *, sum(part_ns) OVER (
        PARTITION BY position, step ORDER BY part_position
    ) AS until_ns
    FROM part
)
SELECT
    device, step, part, part_ns, step_ns, exclusion,
    round((from_ns + until_ns - part_ns) / 1e9, 9) AS start_s,
    round((from_ns + until_ns) / 1e9, 9) AS end_s
FROM laid
WHERE part_ns > 0
ORDER BY position, step, part_position"""

COUNT_SQL = """SELECT
    count(DISTINCT device_key) AS device_count,
    count(DISTINCT step) AS step_count
FROM rank_step"""

EMPTY = (
    "No step is known on more than half of the devices; name steps with NVTX ranges and capture "
    "every rank."
)


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Steps by rank",
        "Own time is the step without exposed communication: what the rank itself needs. A dark "
        "row is a slow rank, a dark column a slow step. The ranks that wait are the others: pale "
        "in own time, dark in waiting.",
    )
    frame = fetch(connection, MAP_SQL)
    if frame.is_empty():
        return Section("step_map", title, explanation, empty=EMPTY)
    source = Source("rank_step", MAP_SQL)
    own, wait = _scales(frame)
    made = [
        Chart(
            "step_timeline",
            "Where each step's time went, rank by rank",
            "Timeline, one row per rank from the begin of its own first step: each step is a "
            "bar as long as the step, cut into compute, compute with communication beside it, "
            "exposed communication, exposed memory and idle. Inside a step the parts are sorted "
            "by kind, not by time.",
            Source("step_time", TIMELINE_SQL),
            draw_timeline(fetch(connection, TIMELINE_SQL)),
        ),
        Chart(
            "step_map_own",
            f"Own time by rank and step: {_scale_words(own)}",
            "Heat map, one row per rank and one column per step: the stronger the colour, the "
            "more time the rank itself needed.",
            source,
            draw_map(frame, "own", "own time", charts.COMPUTE, own),
        ),
    ]
    if frame.get_column("wait_s").drop_nulls().len():
        made.append(
            Chart(
                "step_map_wait",
                f"Exposed waiting for other ranks by rank and step: {_scale_words(wait)}",
                "Heat map, one row per rank and one column per step: the stronger the colour, "
                "the longer the rank waited for others with no compute beside it.",
                source,
                draw_map(frame, "wait", "waiting", charts.COMMUNICATION, wait),
            )
        )
    ((devices, steps),) = connection.execute(COUNT_SQL).fetchall()
    return Section("step_map", title, explanation, charts=tuple(made), notes=_notes(devices, steps))


def _scales(frame: pl.DataFrame) -> tuple[Scale, Scale]:
    """Least and most of own time and of waiting, in s. Colours must not make mountains of
    noise: full colour is at least LEAST_CONTRAST of the least own time away."""
    owns = [float(value) for value in frame.get_column("own_s")]
    waits = [float(value) for value in frame.get_column("wait_s").drop_nulls()]
    least, contrast = min(owns), LEAST_CONTRAST * min(owns)
    return (least, max(*owns, least + contrast)), (0.0, max([*waits, contrast]))


def _scale_words(scale: Scale) -> str:
    pale, full = (units.time(end * 1e9) for end in scale)
    return f"pale is {pale}, full colour {full}"


def _notes(devices: int, steps: int) -> tuple[str, ...]:
    notes = []
    if devices > TIMELINE_RANKS or steps > TIMELINE_STEPS:
        notes.append(
            f"The timeline shows the first {TIMELINE_STEPS} of the steps on at most "
            f"{TIMELINE_RANKS} devices, those with the most excess time."
        )
    if devices > RANKS_DRAWN:
        notes.append(
            f"{RANKS_DRAWN} of {devices} devices are drawn: those with the most own time beyond "
            "the ordinary rank's."
        )
    if steps > STEPS_DRAWN:
        notes.append(f"Cells are means of neighbouring steps: there are {steps} steps.")
    return tuple(notes)


def draw_timeline(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "part_ns", "step_ns")
    narrow = frame.select(
        "device", "step", "part", "part_ns_text", "step_ns_text", "start_s", "end_s", "exclusion"
    )
    chart = (
        alt.Chart(charts.compact(narrow))
        .mark_bar(height={"band": 0.78}, stroke="var(--card)", strokeWidth=0.5)
        .encode(
            y=charts.rows(frame, "device"),
            x=alt.X(
                "start_s:Q",
                scale=alt.Scale(domainMin=0, nice=False),
                axis=charts.seconds_axis("time since the first step", tickCount=8, grid=False),
            ),
            x2="end_s:Q",
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())),
            ),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("step:N"),
                alt.Tooltip("step_ns_text:N", title="step takes"),
                alt.Tooltip("part:N"),
                alt.Tooltip("part_ns_text:N", title="time"),
                alt.Tooltip("exclusion:N", title="left out"),
            ],
        )
    )
    return charts.spec(chart, 24 * frame.get_column("device").n_unique())


def draw_map(
    frame: pl.DataFrame, field: str, title: str, colour: str, ends: Scale
) -> dict[str, object]:
    frame = charts.shown(frame, "own_ns", "exposed_wait_ns", "excess_ns")
    narrow = frame.select(
        "device", "steps", f"{field}_s", "own_ns_text", "exposed_wait_ns_text", "excess_ns_text"
    )
    steps = frame.get_column("steps").unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(charts.compact(narrow))
        .mark_rect(color=colour)
        .encode(
            y=charts.rows(frame, "device", scale=alt.Scale(paddingInner=0.08)),
            x=alt.X(
                "steps:N",
                sort=steps,
                scale=alt.Scale(paddingInner=0.04),
                axis=alt.Axis(title="step", labelAngle=0, labelOverlap="greedy", grid=False),
            ),
            fillOpacity=alt.FillOpacity(
                f"{field}_s:Q",
                scale=alt.Scale(range=[0.08, 1], domain=list(ends), zero=False),
                title=title,
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("steps:N", title="step"),
                alt.Tooltip("own_ns_text:N", title="own time"),
                alt.Tooltip("excess_ns_text:N", title="beyond the ordinary rank"),
                alt.Tooltip("exposed_wait_ns_text:N", title="exposed waiting"),
            ],
        )
    )
    height = 16 if frame.get_column("device").n_unique() > 16 else charts.ROW_HEIGHT
    return charts.spec(chart, height * frame.get_column("device").n_unique())
