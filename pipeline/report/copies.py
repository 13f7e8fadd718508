"""Memory copies and sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("memory_copy_summary", "memory_set_summary")

COPY_SQL = """SELECT
    kind,
    source_memory,
    destination_memory,
    sum(total_ns)::BIGINT AS total_ns,
    share_of(sum(total_ns), max(sum(total_ns)) OVER ()) AS bar_share,
    sum(bytes)::BIGINT AS bytes,
    share_of(sum(bytes) * 1e9, sum(total_ns)) AS bytes_per_s,
    min(bytes_per_s) AS lowest_bytes_per_s,
    max(bytes_per_s) AS highest_bytes_per_s,
    sum(copy_count)::BIGINT AS copy_count,
    count(*) AS device_count,
    min(min_bytes) AS min_bytes,
    max(max_bytes) AS max_bytes
FROM memory_copy_summary
GROUP BY kind, source_memory, destination_memory
ORDER BY total_ns DESC, kind, source_memory, destination_memory"""

SET_SQL = """SELECT
    memory,
    sum(total_ns)::BIGINT AS total_ns,
    sum(bytes)::BIGINT AS bytes,
    sum(set_count)::BIGINT AS set_count,
    count(*) AS device_count
FROM memory_set_summary
GROUP BY memory
ORDER BY total_ns DESC, memory"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    copies = table(
        connection,
        "copies",
        Source("memory_copy_summary", COPY_SQL),
        "Copies by direction and memory, over all devices",
        {"total_ns": "bar_share"},
    )
    sets = table(
        connection,
        "sets",
        Source("memory_set_summary", SET_SQL),
        "Memory sets, over all devices",
    )
    tables = tuple(made for made in (copies, sets) if made is not None)
    return Section(
        "copies",
        "Copies",
        "Copies by direction and kind of memory. bytes per s: sum of sizes / sum of durations; "
        "lowest and highest are of single devices. Pageable host memory is slower than pinned.",
        tables=tables,
        empty=""
        if tables
        else "No memory copies or sets were captured; capture with 'nsys profile --trace=cuda'.",
    )
