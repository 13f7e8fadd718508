"""How much of the time is communication, in the three ways people mean it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import (
    COLLECT_GPU,
    DRAWN_DEVICES,
    LABELLED_DEVICES,
    Chart,
    Section,
    Source,
    fetch,
    table,
)

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("traced_device", "nccl_time_share")

CHART_SQL = f"""WITH {DRAWN_DEVICES}
SELECT
    d.device,
    t.exposed_communication_share,
    t.communication_share,
    t.nccl_share_of_kernel_time
FROM nccl_time_share AS t
JOIN drawn_device AS d USING (source_id, process, device_id)
ORDER BY d.position"""

TABLE_SQL = f"""WITH {LABELLED_DEVICES}
SELECT
    d.device,
    t.exposed_communication_share,
    t.communication_share,
    t.nccl_share_of_kernel_time,
    t.overlap_share,
    t.communication_ns,
    t.exposed_communication_ns,
    t.nccl_count,
    t.kernel_count
FROM nccl_time_share AS t
JOIN labelled_device AS d USING (source_id, process, device_id)
ORDER BY d.position"""

TOTAL_SQL = "SELECT coalesce(sum(nccl_count), 0) AS nccl_count FROM nccl_time_share"

SHARES = {
    "exposed_communication_share": ("exposed communication / span", charts.COMMUNICATION),
    "communication_share": ("communication / span", charts.ACCENT),
    "nccl_share_of_kernel_time": ("sum of NCCL kernels / sum of kernels", charts.MEMORY),
}


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    shares = table(
        connection,
        "nccl_share",
        Source("nccl_time_share", TABLE_SQL),
        "Communication, device by device",
        {name: name for name in SHARES},
    )
    ((nccl_count,),) = connection.execute(TOTAL_SQL).fetchall()
    title, explanation = (
        "NCCL share",
        "Three numerators that are often confused: communication that nothing hides / span; all "
        "communication / span; and the sum of communication kernels / the sum of all kernels, "
        "which summaries print and which counts overlapping streams twice. overlap share: "
        "communication with compute beside it / communication.",
    )
    if shares is None:
        return Section("nccl_share", title, explanation, empty=COLLECT_GPU)
    frame = fetch(connection, CHART_SQL)
    chart = Chart(
        name="nccl_share",
        caption="The three shares by device",
        alt="One row per device with three points: exposed communication share of span, "
        "communication share of span, and NCCL share of kernel time. "
        "The table below holds the numbers.",
        source=Source("nccl_time_share", CHART_SQL),
        spec=draw(frame),
    )
    return Section(
        "nccl_share",
        title,
        explanation,
        charts=(chart,) if nccl_count else (),
        tables=(shares,),
        notes=()
        if nccl_count
        else (
            "No communication kernels were captured: the job used none, or they ran inside "
            "CUDA graphs recorded as a whole.",
        ),
    )


def draw(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, *SHARES)
    y = charts.rows(frame, "device", axis=alt.Axis(grid=True, gridDash=[1, 3]))
    x = alt.X(scale=alt.Scale(domain=[0, 1], nice=False), axis=charts.share_axis("share"))
    points = [
        alt.Chart(frame)
        .transform_calculate(measure=f"'{label}'")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            y=y,
            x=x.copy().field(name).type("quantitative"),
            color=alt.Color(
                "measure:N",
                title=None,
                scale=alt.Scale(
                    domain=[text for text, _ in SHARES.values()],
                    range=[colour for _, colour in SHARES.values()],
                ),
            ),
            shape=alt.Shape(
                "measure:N",
                title=None,
                scale=alt.Scale(
                    domain=[text for text, _ in SHARES.values()],
                    range=["circle", "diamond", "triangle-up"],
                ),
            ),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("measure:N"),
                alt.Tooltip(f"{name}_text:N", title="share"),
            ],
        )
        for name, (label, _) in SHARES.items()
    ]
    return charts.spec(alt.layer(*points), charts.ROW_HEIGHT * frame.height)
