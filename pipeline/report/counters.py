"""Hardware counters."""

from __future__ import annotations

import duckdb

from pipeline.report.section import Section, table

_TABLE = """
    SELECT metric, coalesce(host || ', ', '') || coalesce('GPU ' || device_id, gpu_id) AS device,
        sample_count, mean_value, min_value, median_value, p95_value, max_value
    FROM gpu_sample_summary
    ORDER BY metric, device, gpu_id
"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    rows = table(connection, _TABLE, "Samples over the whole capture", most=120)
    return Section(
        key="counters",
        title="Hardware counters",
        lead="Distribution of the samples over the capture, in the base unit that the metric's "
        "name ends in: shares are fractions, clocks hertz.",
        view="gpu_sample_summary",
        tables=[rows] if rows.total else [],
        empty="No hardware counters were sampled: collect with --gpu-metrics-devices=all.",
    )
