"""The run at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.report.section import NO_GPU, Figure, Section

if TYPE_CHECKING:
    import duckdb

VIEWS = ("run_summary", "nccl_time_share", "kernel_gap_summary", "collective_wait", "clock_summary")

RUN_SQL = "FROM run_summary"

SPREAD_SQL = """SELECT name, min(value) AS lowest, median(value) AS middle, max(value) AS highest
FROM (
    UNPIVOT (
        SELECT
            span_ns::DOUBLE AS span_ns, busy_share, idle_share, exposed_communication_share,
            communication_share, nccl_share_of_kernel_time
        FROM nccl_time_share
    ) ON COLUMNS(*) INTO NAME name VALUE value
    UNION ALL
    UNPIVOT (
        SELECT gap_share, gap_count::DOUBLE AS gap_count FROM kernel_gap_summary
    ) ON COLUMNS(*) INTO NAME name VALUE value
    UNION ALL
    SELECT 'worst_residual_ns', worst_residual_ns FROM collective_wait
    WHERE worst_residual_ns IS NOT NULL
    UNION ALL
    SELECT 'coverage_share', coverage_share FROM clock_summary
    WHERE is_primary
        AND coverage_share IS NOT NULL
)
GROUP BY name
ORDER BY name"""

PER_DEVICE = (
    (
        "exposed_communication_share",
        "Exposed communication",
        "nccl_time_share",
        "Communication with no compute beside it / span.",
    ),
    (
        "communication_share",
        "Communication",
        "nccl_time_share",
        "Union of communication kernels, hidden or not / span.",
    ),
    (
        "nccl_share_of_kernel_time",
        "NCCL share of kernel time",
        "nccl_time_share",
        "Sum of communication kernels / sum of all kernels; what kernel summaries print.",
    ),
    ("busy_share", "Busy", "nccl_time_share", "Union of all activity / span."),
    ("idle_share", "Idle", "nccl_time_share", "(span - union of all activity) / span."),
    (
        "gap_share",
        "In gaps",
        "kernel_gap_summary",
        "Idle intervals of at least kernel_gap_ns / span of the GPU.",
    ),
    (
        "gap_count",
        "Gaps per GPU",
        "kernel_gap_summary",
        "Idle intervals of at least kernel_gap_ns.",
    ),
    (
        "span_ns",
        "Span",
        "nccl_time_share",
        "First start to last end of a device's activity: the denominator of the shares of span.",
    ),
    (
        "worst_residual_ns",
        "Clock residual",
        "collective_wait",
        "How far ends of collectives lie apart after clocks were aligned: waits may be wrong by "
        "this.",
    ),
    (
        "coverage_share",
        "Telemetry coverage",
        "clock_summary",
        "Share of the time that the telemetry's samples stand for.",
    ),
)


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    result = connection.execute(RUN_SQL)
    columns = [name for name, *_ in result.description or ()]
    run = dict(zip(columns, result.fetchall()[0], strict=True))
    spreads = {name: spread for name, *spread in connection.execute(SPREAD_SQL).fetchall()}
    has_gpu = "span_ns" in spreads
    return Section(
        name="headline",
        title="Headline",
        explanation=(
            "Large: the median over the devices; small: the lowest and the highest. Shares are "
            "of the device's span, save NCCL share of kernel time. Behind them: how complete "
            "the run is."
            if has_gpu
            else "How complete the run is; Sources lists the files."
        ),
        figures=(
            *(
                Figure(label, name, spreads[name][1], view, meaning, *spreads[name][::2])
                for name, label, view, meaning in PER_DEVICE
                if name in spreads
            ),
            *_run_figures(run),
        ),
        notes=() if has_gpu else (NO_GPU,),
        sql=f"{SPREAD_SQL};\n\n{RUN_SQL}",
    )


def _run_figures(run: dict[str, Any]) -> tuple[Figure, ...]:
    def figure(column: str, label: str, meaning: str, of: object = None) -> Figure:
        return Figure(label, column, run[column], "run_summary", meaning, of=of)

    return (
        figure("device_count", "GPUs traced", "GPUs that traced processes used."),
        figure(
            "rank_count",
            "Ranks present" if run["world_size"] is None else "Ranks of world size",
            "Ranks that the files name, of the ranks that the job's environment says.",
            run["world_size"],
        ),
        figure("host_count", "Hosts", "Hosts that the files name."),
        figure("source_count", "Files stored", "Source files in the store, incomplete or not."),
        figure("refused_count", "Files refused", "Source files that could not be read."),
        figure("incomplete_count", "Incomplete", "Files stored that are not whole."),
        figure("warning_count", "Warnings", "Warnings about the files; see Sources."),
    )
