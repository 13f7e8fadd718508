"""What limits the kernels: rooflines of profiled ones, weighted by their time in the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report import charts
from pipeline.report.section import Chart, Section, Source, Table, fetch, table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("roofline", "speed_of_light", "kernel_limit", "weighted_roofline", "kernel_signature")

# More points than an eye tells apart.
POINTS_DRAWN = 300
CLASSES = {
    "compute bound": charts.COMPUTE,
    "memory bound": charts.MEMORY,
    "latency bound": charts.ACCENT,
    "balanced": charts.OVERLAP,
    "communication": charts.COMMUNICATION,
    "not classified": "var(--muted)",
    "not profiled": "var(--line)",
}

# Time in the job of what was profiled under the same name, grid and block; pages of one
# report count once.
POINT_SQL = f"""WITH timed AS (
    SELECT
        s.signature,
        l.grid_x * l.grid_y * l.grid_z AS grid_block_count,
        l.block_x::BIGINT * l.block_y * l.block_z AS block_thread_count,
        sum(l.total_ns) AS total_ns,
        share_of(sum(l.total_ns), sum(sum(l.total_ns)) OVER ()) AS kernel_time_share
    FROM kernel_limit AS l
    JOIN kernel_signature AS s USING (name)
    GROUP BY ALL
)
SELECT
    r.name,
    coalesce(r.class, 'not classified') AS class,
    r.level,
    r.work,
    median(r.intensity) AS intensity,
    median(r.flops_per_s) AS flops_per_s,
    median(r.roof_share) AS roof_share,
    any_value(t.kernel_time_share) AS kernel_time_share
FROM roofline AS r
JOIN speed_of_light AS l USING (run_id, source_id, kernel_id)
JOIN kernel_signature AS s ON s.name = r.name
LEFT JOIN timed AS t
    ON t.signature = s.signature
    AND t.grid_block_count = l.grid_block_count
    AND t.block_thread_count = l.block_thread_count
WHERE r.intensity IS NOT NULL
GROUP BY r.name, r.class, r.level, r.work, l.grid_block_count, l.block_thread_count
ORDER BY kernel_time_share DESC NULLS LAST, flops_per_s DESC, r.name, r.level, r.work,
    l.grid_block_count, l.block_thread_count
LIMIT {POINTS_DRAWN}"""

# Each roof from the left edge of the chart over its ridge to the right edge.
ROOF_SQL = """WITH roof AS (
    SELECT
        level,
        work,
        max(peak_flops_per_s) AS peak_flops_per_s,
        max(peak_bytes_per_s) AS peak_bytes_per_s,
        row_number() OVER (PARTITION BY level ORDER BY work) AS level_place,
        row_number() OVER (PARTITION BY work ORDER BY level) AS work_place
    FROM roofline
    WHERE ridge IS NOT NULL
    GROUP BY level, work
),
edge AS (
    SELECT
        least(min(intensity), min(ridge)) / 4 AS lowest,
        greatest(max(intensity), max(ridge)) * 4 AS highest
    FROM roofline
),
corner AS (
    SELECT
        level,
        work,
        peak_flops_per_s,
        peak_bytes_per_s,
        -- The name of a level at its slope, of a kind of work at its ceiling, once each.
        unnest([
            {'intensity': lowest, 'name': CASE WHEN level_place = 1 THEN level END},
            {'intensity': peak_flops_per_s / peak_bytes_per_s, 'name': NULL},
            {'intensity': highest, 'name': CASE WHEN work_place = 1 THEN work END}
        ], recursive := true)
    FROM roof
    CROSS JOIN edge
)
SELECT
    level,
    work,
    level || ', ' || work AS roof,
    intensity,
    least(peak_flops_per_s, intensity * peak_bytes_per_s) AS flops_per_s,
    CASE WHEN name = level THEN name ELSE '' END AS level_name,
    CASE WHEN name = work THEN name ELSE '' END AS work_name
FROM corner
ORDER BY level, work, intensity"""

SHARE_SQL = """SELECT
    class,
    share_of(sum(total_ns), sum(sum(total_ns)) OVER ()) AS kernel_time_share,
    sum(total_ns)::BIGINT AS total_ns,
    sum(kernel_count)::BIGINT AS kernel_count,
    share_of(sum(exact_share * total_ns), sum(total_ns)) AS exact_share,
    share_of(sum(name_only_share * total_ns), sum(total_ns)) AS name_only_share
FROM weighted_roofline
WHERE step IS NULL
GROUP BY class
ORDER BY total_ns DESC, class"""

KERNEL_SQL = """SELECT
    name,
    class,
    share_of(sum(total_ns), sum(sum(total_ns)) OVER ()) AS kernel_time_share,
    sum(total_ns)::BIGINT AS total_ns,
    sum(kernel_count)::BIGINT AS kernel_count,
    grid_x || ' x ' || grid_y || ' x ' || grid_z AS grid,
    block_x || ' x ' || block_y || ' x ' || block_z AS block,
    match,
    is_high,
    is_small_grid
FROM kernel_limit
GROUP BY ALL
ORDER BY total_ns DESC, name, grid, block, class, match, is_high, is_small_grid"""

PROFILE_SQL = """SELECT
    name,
    class,
    is_high,
    is_small_grid,
    compute_share,
    memory_share,
    dram_share,
    tensor_pipe_share,
    tc_pipe_share,
    wave_count,
    grid_block_count,
    block_thread_count,
    clock_hz,
    is_clock_locked,
    reason,
    count(*) AS profile_count
FROM speed_of_light
GROUP BY ALL
ORDER BY
    class, compute_share DESC NULLS LAST, memory_share DESC NULLS LAST, name,
    grid_block_count, block_thread_count, clock_hz"""

EXPLANATION = (
    "What limits kernels, as Nsight Compute measured it: memory or compute throughput at its "
    "peak, or neither (latency). Durations and shares of time are the job's own, from Nsight "
    "Systems; those under ncu are longer, since it locks clocks and flushes caches. Roofs are "
    "the profile's peaks at its clocks, dense. A profile belongs to the kernel of the same name, "
    "grid and block (exact), else of the same name (name only)."
)
EMPTY = (
    "No kernel was profiled; capture some with 'ncu --set full --csv --page raw --log-file "
    "kernels.csv' and put the file beside the traces."
)


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    profiles = table(
        connection,
        "speed_of_light",
        Source("speed_of_light", PROFILE_SQL),
        "Profiled kernels",
        {"compute_share": "compute_share", "memory_share": "memory_share"},
    )
    if profiles is None:
        return Section("roofline", "Roofline", EXPLANATION, empty=EMPTY)
    bars = {"kernel_time_share": "kernel_time_share"}
    shares = Source("weighted_roofline", SHARE_SQL)
    limits = Source("kernel_limit", KERNEL_SQL)
    tables = (
        table(connection, "weighted_roofline", shares, "Kernel time by what limits it", bars),
        table(connection, "kernel_limit", limits, "Kernels of the job and what limits them", bars),
        profiles,
    )
    return Section(
        "roofline",
        "Roofline",
        EXPLANATION,
        charts=made_charts(connection, tables[0]),
        tables=tuple(made for made in tables if made is not None),
    )


def made_charts(connection: duckdb.DuckDBPyConnection, weighted: Table | None) -> tuple[Chart, ...]:
    made = []
    points = fetch(connection, POINT_SQL)
    if not points.is_empty():
        made.append(
            Chart(
                "roofline",
                "Rooflines: work against traffic of each memory level",
                "Points, one per profiled kernel, kind of work and memory level, at its FLOP per "
                "byte and its FLOP/s, sized by its share of kernel time where it ran in the "
                "job; lines are the roofs of each level and kind.",
                Source("roofline", POINT_SQL),
                draw(points, fetch(connection, ROOF_SQL)),
            )
        )
    if weighted is not None:
        made.append(
            Chart(
                "weighted_roofline",
                "Kernel time by what limits it",
                "Bars, one per class: its share of the sum of all kernels' durations.",
                Source("weighted_roofline", SHARE_SQL),
                draw_shares(fetch(connection, SHARE_SQL)),
            )
        )
    return tuple(made)


def colour(frame: pl.DataFrame) -> alt.Color:
    """The colours of the classes that the frame holds."""
    held = [name for name in CLASSES if name in frame.get_column("class")]
    scale = alt.Scale(domain=held, range=[CLASSES[name] for name in held])
    return alt.Color("class:N", title=None, scale=scale)


def draw(points: pl.DataFrame, roofs: pl.DataFrame) -> dict[str, object]:
    points = charts.shown(points, "intensity", "flops_per_s", "roof_share", "kernel_time_share")
    log = alt.Scale(type="log", nice=False)
    x = alt.X("intensity:Q", scale=log, axis=alt.Axis(title="FLOP per byte", format="~g"))
    y = alt.Y("flops_per_s:Q", scale=log, axis=alt.Axis(title="FLOP/s", format="~s", tickCount=6))
    lines = (
        alt.Chart(roofs)
        .mark_line(color="var(--muted)", strokeWidth=1)
        .encode(
            x=x,
            y=y,
            detail="roof:N",
            strokeDash=alt.StrokeDash("level:N", legend=None, sort=["DRAM", "L2", "L1"]),
            tooltip=[alt.Tooltip("roof:N")],
        )
    )
    named = alt.Chart(roofs).encode(x=x, y=y)
    ceilings = named.mark_text(align="right", dy=-7, fontSize=11, color="var(--muted)")
    slopes = named.mark_text(align="left", dx=4, dy=-7, fontSize=11, color="var(--muted)")
    names = alt.layer(
        ceilings.encode(text="work_name:N"),
        slopes.encode(text="level_name:N"),
    )
    dots = (
        alt.Chart(points)
        .mark_point(filled=True, opacity=0.8)
        .encode(
            x=x,
            y=y,
            color=colour(points),
            shape=alt.Shape("level:N", title="level", sort=["DRAM", "L2", "L1"]),
            size=alt.Size(
                "kernel_time_share:Q",
                legend=None,
                scale=alt.Scale(domain=[0, 0.5], range=[30, 900], clamp=True),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="kernel"),
                alt.Tooltip("class:N"),
                alt.Tooltip("level:N"),
                alt.Tooltip("work:N"),
                alt.Tooltip("intensity_text:N", title="FLOP per byte"),
                alt.Tooltip("flops_per_s_text:N", title="FLOP/s"),
                alt.Tooltip("roof_share_text:N", title="of the roof"),
                alt.Tooltip("kernel_time_share_text:N", title="share of kernel time"),
            ],
        )
    )
    return charts.spec(alt.layer(lines, names, dots), 320)


def draw_shares(frame: pl.DataFrame) -> dict[str, object]:
    frame = charts.shown(frame, "kernel_time_share", "total_ns", "kernel_count", "exact_share")
    base = alt.Chart(frame).encode(
        y=charts.rows(frame, "class"),
        x=alt.X("kernel_time_share:Q", axis=charts.share_axis("share of kernel time")),
        tooltip=[
            alt.Tooltip("class:N"),
            alt.Tooltip("kernel_time_share_text:N", title="share of kernel time"),
            alt.Tooltip("total_ns_text:N", title="total"),
            alt.Tooltip("kernel_count_text:N", title="kernels"),
            alt.Tooltip("exact_share_text:N", title="matched by name, grid and block"),
        ],
    )
    bars = base.mark_bar(height={"band": 0.66}).encode(color=colour(frame).legend(None))
    texts = base.mark_text(align="left", dx=5, fontSize=11, color="var(--muted)").encode(
        text="kernel_time_share_text:N"
    )
    return charts.spec(alt.layer(bars, texts), charts.ROW_HEIGHT * frame.height)
