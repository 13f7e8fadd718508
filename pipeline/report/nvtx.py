"""NVTX ranges, by the GPU time of the work launched inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("nvtx_summary",)

SQL = """SELECT
    name,
    domain,
    kind,
    sum(projected_ns)::BIGINT AS projected_ns,
    coalesce(share_of(sum(projected_ns), max(sum(projected_ns)) OVER ()), 0) AS bar_share,
    sum(total_ns)::BIGINT AS total_ns,
    sum(range_count)::BIGINT AS range_count,
    sum(projected_count)::BIGINT AS projected_count,
    sum(work_count)::BIGINT AS work_count,
    count(*) AS process_count,
    min(median_ns) AS lowest_median_ns,
    max(median_ns) AS highest_median_ns,
    max(max_ns) AS max_ns,
    sum(open_count)::BIGINT AS open_count
FROM nvtx_summary
GROUP BY name, domain, kind
ORDER BY projected_ns DESC, total_ns DESC, name, domain, kind"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    ranges = table(
        connection,
        "nvtx",
        Source("nvtx_summary", SQL),
        "NVTX ranges by projected time, over all processes",
        {"projected_ns": "bar_share"},
    )
    return Section(
        "nvtx",
        "NVTX ranges",
        "projected: sum over the ranges of first start to last end of the GPU work launched "
        "inside. total: sum of the durations on the host. Nested ranges count in each other, so "
        "rows do not sum to the span.",
        tables=(ranges,) if ranges else (),
        empty=""
        if ranges
        else "No NVTX ranges were captured; annotate the program (torch.cuda.nvtx, "
        "--pytorch=autograd-nvtx) and capture with 'nsys profile --trace=cuda,nvtx'.",
    )
