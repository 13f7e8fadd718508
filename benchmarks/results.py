"""From measurements to a page: medians, ratios, growth and the verdict of every gate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from measure import Measurement

MB = 1e6
VIEWS = ("nccl_time_share", "kernel_gap_summary", "top_kernel")


@dataclass(frozen=True)
class Row:
    """One thing that was measured on one export, or why it was not."""

    name: str
    what: str
    rounds: tuple[Measurement, ...] = ()
    reason: str = ""  # why there are no rounds

    @property
    def wall_s(self) -> float:
        return median(m.wall_s for m in self.rounds)

    @property
    def cpu_s(self) -> float:
        return median(m.cpu_s for m in self.rounds)

    @property
    def peak_rss_bytes(self) -> int:
        return max(m.peak_rss_bytes for m in self.rounds)

    @property
    def peak_anonymous_bytes(self) -> int:
        return max(m.peak_anonymous_bytes for m in self.rounds)

    @property
    def foreign_cores(self) -> float:
        return max(m.foreign_cores for m in self.rounds)


@dataclass(frozen=True)
class Export:
    name: str
    size_bytes: int
    kernels: int
    store_bytes: int  # 0: no ingest was measured
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows if row.name == name and row.rounds), None)


@dataclass(frozen=True)
class Gate:
    name: str
    limit: float
    unit: str
    value: float | None  # None: something it needs was not measured

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        return "met" if self.value <= self.limit else "MISSED"


def together(rows: Sequence[Row], name: str, what: str) -> Row:
    """The rows run one after the other: times add up round by round, memory is the highest."""
    missing = [row.name for row in rows if not row.rounds]
    if missing or not rows:
        return Row(name, what, reason=f"not measured: {', '.join(missing) or 'nothing'}")
    sums = tuple(
        Measurement(
            wall_s=sum(m.wall_s for m in parts),
            cpu_s=sum(m.cpu_s for m in parts),
            peak_rss_bytes=max(m.peak_rss_bytes for m in parts),
            peak_anonymous_bytes=max(m.peak_anonymous_bytes for m in parts),
            foreign_cores=max(m.foreign_cores for m in parts),
            exit_code=max(m.exit_code for m in parts),
            stdout="",
            stderr="",
        )
        for parts in zip(*(row.rounds for row in rows), strict=False)
    )
    return Row(name, what, sums)


def gates(exports: Sequence[Export]) -> list[Gate]:
    """The gates, judged on the largest export; growth from the smallest to the largest."""
    smallest, largest = _by_size(exports)[0], _by_size(exports)[-1]
    ingest, views = largest.row("ingest"), largest.row("views")
    growth = None
    if largest.kernels > smallest.kernels > 0:
        growth = linearity(smallest, largest, "ingest")
    return [
        Gate("ingest / C stepping", 0.6, "x", ratio(ingest, largest.row("c_stepping"))),
        Gate("ingest / the same in Python", 0.1, "x", ratio(ingest, largest.row("python_parquet"))),
        Gate("ingest / Python sqlite3", 0.1, "x", ratio(ingest, largest.row("python_sqlite3"))),
        Gate("ingest peak memory", 500, " MB", ingest.peak_rss_bytes / MB if ingest else None),
        Gate("three views, cold", 8, " s", views.wall_s if views else None),
        Gate("ingest growth / linear growth", 1.15, "x", growth),
    ]


def ratio(row: Row | None, other: Row | None) -> float | None:
    return row.wall_s / other.wall_s if row and other else None


def linearity(small: Export, large: Export, name: str) -> float | None:
    """How much more than its share of kernels the larger export costs; 1 is linear."""
    grown = ratio(large.row(name), small.row(name))
    return grown / (large.kernels / small.kernels) if grown else None


def _by_size(exports: Sequence[Export]) -> list[Export]:
    return sorted(exports, key=lambda export: export.kernels)


def page(machine: Mapping[str, str], exports: Sequence[Export]) -> str:
    """The results as Markdown."""
    parts = ["# Results", "", "Written by `benchmarks/run.py`; `README.md` says how to read it."]
    parts += ["", *_table(("machine", ""), [(key, value) for key, value in machine.items()])]
    parts += ["", "## Gates", "", *_gate_table(exports)]
    for export in exports:
        parts += ["", *_export_section(export)]
    if len(exports) > 1:
        parts += ["", *_growth_section(exports)]
    return "\n".join(parts) + "\n"


def _gate_table(exports: Sequence[Export]) -> list[str]:
    rows = [
        (
            gate.name,
            f"<= {gate.limit:g}{gate.unit}",
            "-" if gate.value is None else f"{_number(gate.value)}{gate.unit}",
            gate.verdict,
        )
        for gate in gates(exports)
    ]
    return _table(("gate", "limit", "measured", "verdict"), rows)


def _export_section(export: Export) -> list[str]:
    title = f"## {export.name}: {export.kernels:,} kernels, {export.size_bytes / MB:,.0f} MB"
    head = ("what", "wall s", "min-max", "CPU s", "peak RSS MB", "peak anonymous MB")
    ingest = export.row("ingest")
    rows = [
        (
            row.what,
            _number(row.wall_s),
            f"{_number(min(m.wall_s for m in row.rounds))}"
            f"-{_number(max(m.wall_s for m in row.rounds))}",
            _number(row.cpu_s),
            f"{row.peak_rss_bytes / MB:,.0f}",
            f"{row.peak_anonymous_bytes / MB:,.0f}",
            f"{row.foreign_cores:.1f}",
            str(len(row.rounds)),
            _times(ratio(row, ingest)),
        )
        for row in export.rows
        if row.rounds
    ]
    lines = [title, "", *_table((*head, "foreign cores", "rounds", "/ ingest"), rows)]
    if export.store_bytes:
        share = export.store_bytes / export.size_bytes
        lines += ["", f"The store is {export.store_bytes / MB:,.0f} MB, {share:.2f} of the export."]
    skipped = [f"- {row.what}: {row.reason}" for row in export.rows if row.reason]
    return [*lines, "", "Not measured:", "", *skipped] if skipped else lines


def _growth_section(exports: Sequence[Export]) -> list[str]:
    ordered = _by_size(exports)
    rows = []
    for name in dict.fromkeys(row.name for export in ordered for row in export.rows):
        for export in ordered:
            if row := export.row(name):
                linear = linearity(ordered[0], export, name)
                memory = f"{row.peak_rss_bytes / MB:,.0f}"
                cells = (f"{export.kernels:,}", _number(row.wall_s), memory, _times(linear))
                rows.append((row.what, *cells))
    return [
        "## Growth",
        "",
        *_table(("what", "kernels", "wall s", "peak RSS MB", "/ linear"), rows),
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cells[i]) for cells in (head, *rows)) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    return [line(head), f"|{'|'.join('-' * (width + 2) for width in widths)}|", *map(line, rows)]


def _times(value: float | None) -> str:
    return "-" if value is None else f"{_number(value)}x"


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
