"""The numbers at the top of the page."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from pipeline import units
from pipeline.report.section import one


@dataclass(frozen=True)
class Headline:
    """One number: its name, its text, what spreads around it, and the view it is from."""

    name: str
    text: str
    spread: str
    view: str


_OVER_DEVICES = """
    SELECT {columns}
    FROM page.nccl_time_share
"""
# column -> name; the median over devices is shown with the least and the most.
_DEVICE_NUMBERS = {
    "span_ns": "span",
    "busy_share": "busy",
    "exposed_communication_share": "exposed communication / span",
    "communication_share": "communication / span",
    "nccl_share_of_kernel_time": "NCCL / kernel time",
    "overlap_share": "communication hidden",
    "idle_share": "idle",
}
_GAPS = "SELECT sum(gap_count)::BIGINT, sum(gap_ns)::BIGINT FROM page.kernel_gap_summary"
_RUN = """
    SELECT device_count, host_count, rank_count, world_size, source_count, refused_count,
        incomplete_count, warning_count, start_utc_ns
    FROM run_summary
"""


def headlines(connection: duckdb.DuckDBPyConnection) -> list[Headline]:
    """The headline numbers of the one run in sight; none without GPU activity."""
    columns = ", ".join(f"median({c}), min({c}), max({c})" for c in _DEVICE_NUMBERS)
    row = one(connection, _OVER_DEVICES.format(columns=columns))
    if row[0] is None:
        return []
    found = []
    for i, (column, name) in enumerate(_DEVICE_NUMBERS.items()):
        middle, least, most = row[3 * i : 3 * i + 3]
        shown = [units.show(column, value) for value in (middle, least, most)]
        spread = "" if shown[1] == shown[2] else f"{shown[1]} to {shown[2]}"
        found.append(Headline(name, shown[0], spread, "nccl_time_share"))
    gap_count, gap_ns = one(connection, _GAPS)
    found.append(
        Headline(
            "gaps",
            units.show("gap_count", gap_count),
            f"{units.show('gap_ns', gap_ns)} over all GPUs",
            "kernel_gap_summary",
        )
    )
    return found


def trust_line(connection: duckdb.DuckDBPyConnection) -> str:
    """How far the page can be trusted: who is present, what is missing."""
    devices, hosts, ranks, world, sources, refused, incomplete, warnings, start = one(
        connection, _RUN
    )
    present = f"{ranks} of {world} ranks" if world else f"{ranks} ranks known"
    parts = [
        f"{devices} GPUs used",
        present,
        f"{hosts} hosts",
        f"{sources} files stored",
        *([f"{refused} refused"] if refused else []),
        *([f"{incomplete} incomplete"] if incomplete else []),
        *([f"{warnings} warnings"] if warnings else []),
        *([f"captured {units.utc(start)}"] if start is not None else []),
    ]
    return " · ".join(parts)
