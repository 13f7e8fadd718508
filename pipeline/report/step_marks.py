"""One ordinary step in full: streams, kernels, communication, copies and ranges over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import LABELLED_DEVICES, Chart, Section, Source, fetch

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("traced_device", "step_mark")

# More marks slow a page down; the longest are drawn.
MARKS_DRAWN = 4000

SQL = f"""WITH {LABELLED_DEVICES},
longest AS (
    FROM step_mark
    QUALIFY row_number() OVER (ORDER BY end_ns - start_ns DESC, device_key, mark) <= {MARKS_DRAWN}
)
SELECT
    d.device || ' ' || m.lane AS lane,
    CASE
        WHEN m.class = 'nvtx' THEN 'NVTX range'
        WHEN m.class = 'communication' THEN 'communication'
        WHEN m.class IN ('memory_copy', 'memory_set') THEN 'copies and sets'
        WHEN m.class IN ('gemm', 'attention') THEN 'matrix kernels'
        ELSE 'other kernels' END AS kind,
    m.class,
    m.text,
    m.part_count,
    m.part_ns,
    m.end_ns - m.start_ns AS dur_ns,
    round(m.start_ns / 1e9, 9) AS start_s,
    round(m.end_ns / 1e9, 9) AS end_s
FROM longest AS m
JOIN traced_device AS t USING (device_key)
JOIN labelled_device AS d
    ON d.source_id = t.source_id AND d.process = t.process AND d.device_id = t.device_id
ORDER BY d.position, starts_with(m.lane, 'stream'), m.lane, m.start_ns, m.mark"""

TOLD_SQL = """SELECT step, count(DISTINCT device_key) AS device_count, count(*) AS mark_count
FROM step_mark
GROUP BY step
ORDER BY step"""

KINDS = {
    "matrix kernels": charts.COMPUTE,
    "other kernels": charts.OVERLAP,
    "communication": charts.COMMUNICATION,
    "copies and sets": charts.MEMORY,
    "NVTX range": charts.RANGE,
}


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "One step",
        "The step of median length, on the devices with the most and with the least excess "
        "time. Each device starts at its own begin of the step. What is shorter than a "
        "thousandth of the step is drawn together with its neighbours. NVTX ranges lie where "
        "the work ran that was launched inside them.",
    )
    frame = fetch(connection, SQL)
    if frame.is_empty():
        return Section(
            "step_marks",
            title,
            explanation,
            empty="No steps are known; name them with NVTX ranges and capture with "
            "'nsys profile --trace=cuda,nvtx'.",
        )
    ((step, devices, marks),) = connection.execute(TOLD_SQL).fetchall()
    chart = Chart(
        "step_marks",
        f"Step {step} on {devices} devices" if devices > 1 else f"Step {step} on one device",
        "Timeline, one row per stream and per level of NVTX ranges: a bar for each kernel, "
        "copy or range from its start to its end. The section Top kernels has the totals.",
        Source("step_mark", SQL),
        draw(frame),
        zoom="zoom_start_s",
    )
    notes = (f"The longest {MARKS_DRAWN} of {marks} marks are drawn.",)
    return Section(
        "step_marks",
        title,
        explanation,
        charts=(chart,),
        notes=notes if marks > MARKS_DRAWN else (),
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "dur_ns")
    narrow = frame.select(
        "lane", "kind", "class", "text", "part_count", "dur_ns_text", "start_s", "end_s"
    )
    # The page must scroll under the wheel, so zooming asks for a key.
    zoom = alt.selection_interval(
        name="zoom", bind="scales", encodings=["x"], zoom="wheel![event.ctrlKey]"
    )
    chart = (
        alt.Chart(charts.compact(narrow))
        .mark_bar(height={"band": 0.82}, clip=True)
        .encode(
            y=charts.rows(frame, "lane"),
            x=alt.X(
                "start_s:Q",
                scale=alt.Scale(nice=False),
                axis=charts.seconds_axis("time since the step began", tickCount=8),
            ),
            x2="end_s:Q",
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(KINDS), range=list(KINDS.values())),
            ),
            tooltip=[
                alt.Tooltip("lane:N"),
                alt.Tooltip("text:N", title="name"),
                alt.Tooltip("class:N"),
                alt.Tooltip("dur_ns_text:N", title="from start to end"),
                alt.Tooltip("part_count:Q", title="activities"),
            ],
        )
        .add_params(zoom)
    )
    return charts.spec(chart, charts.ROW_HEIGHT * frame.get_column("lane").n_unique())
