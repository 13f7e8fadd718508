"""What the host did: API calls and NVTX ranges."""

from __future__ import annotations

import duckdb

from pipeline.report.section import Section, table

_API = """
    SELECT name, sum(call_count)::BIGINT AS call_count, sum(error_count)::BIGINT AS error_count,
        sum(total_ns)::BIGINT AS total_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns,
        count(*) AS process_count
    FROM api_summary
    GROUP BY name
    ORDER BY total_ns DESC, name
"""
_NVTX = """
    SELECT domain, name, sum(range_count)::BIGINT AS range_count,
        sum(open_count)::BIGINT AS open_count, sum(total_ns)::BIGINT AS total_ns,
        sum(projected_count)::BIGINT AS projected_count,
        sum(projected_ns)::BIGINT AS projected_ns, sum(work_count)::BIGINT AS work_count
    FROM nvtx_summary
    GROUP BY domain, name
    ORDER BY projected_ns DESC, total_ns DESC, domain, name
"""


def api_section(connection: duckdb.DuckDBPyConnection) -> Section:
    rows = table(connection, _API, "CUDA calls by total time, all processes together")
    return Section(
        key="api",
        title="CUDA API calls",
        lead="Time the host spent inside CUDA calls, summed over threads. A long copy or "
        "synchronisation is the host waiting for the GPU, not work.",
        view="api_summary",
        tables=[rows] if rows.total else [],
        empty="No CUDA API calls were captured: collect with --trace=cuda.",
    )


def nvtx_section(connection: duckdb.DuckDBPyConnection) -> Section:
    rows = table(connection, _NVTX, "NVTX ranges by projected GPU time, all processes together")
    return Section(
        key="nvtx",
        title="NVTX ranges",
        lead="Time on the host, and projected on the GPU: from the first start to the last end "
        "of the work launched inside a range on its thread, summed over ranges.",
        view="nvtx_summary",
        tables=[rows] if rows.total else [],
        empty="No NVTX ranges were captured: annotate steps and phases, and collect with "
        "--trace=nvtx.",
    )
