"""Device memory: how full, whether it grows, what the job should need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import LABELLED_DEVICES, Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("traced_device", "memory_headroom", "allocated_memory", "expected_memory")

HEADROOM_SQL = """SELECT
    concat_ws(' ', host, coalesce('GPU ' || device_id, gpu_id)) AS gpu,
    peak_used_bytes, total_bytes, headroom_bytes, headroom_share, is_too_full,
    growth_bytes, is_growing, full_after_ns, reason
FROM memory_headroom
WHERE is_primary
ORDER BY is_growing DESC NULLS LAST, headroom_share NULLS LAST, host, gpu_id, source_id"""

ALLOCATED_SQL = f"""WITH {LABELLED_DEVICES}
SELECT
    d.device, a.peak_bytes, a.growth_bytes, a.allocated_bytes, a.allocation_count,
    a.release_count
FROM allocated_memory AS a
JOIN labelled_device AS d USING (source_id, process, device_id)
ORDER BY a.peak_bytes DESC NULLS LAST, d.position"""

EXPECTED_SQL = """SELECT * EXCLUDE (run_id)
FROM expected_memory
WHERE gpu_bytes IS NOT NULL
ORDER BY rule"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Memory",
        "Device memory as telemetry sampled it, as captures recorded allocations, and as rules of "
        "thumb expect it of the model. Room for peaks is what keeps a job from an out-of-memory.",
    )
    made = (
        table(
            connection,
            "memory",
            Source("memory_headroom", HEADROOM_SQL),
            "Device memory by GPU",
            {"headroom_share": "headroom_share"},
        ),
        table(
            connection,
            "allocated",
            Source("allocated_memory", ALLOCATED_SQL),
            "Memory allocated while captured, above the level at its begin",
        ),
        table(
            connection,
            "expected_memory",
            Source("expected_memory", EXPECTED_SQL),
            "What the training state should need on one GPU",
        ),
    )
    tables = tuple(one for one in made if one is not None)
    if not tables:
        return Section(
            "memory",
            title,
            explanation,
            empty="No memory was sampled and no allocation captured; record framebuffer use with "
            "'dcgmi dmon -e 252' or capture with 'nsys profile --cuda-memory-usage=true'.",
        )
    return Section("memory", title, explanation, tables=tables)
