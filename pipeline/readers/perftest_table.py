"""The columns of perftest's tables: their names, units and numbers.

Names have spaces in them, so a header is read by the names that are known. Up to August 2024
MiB/s was called MB/sec; the value was MiB/s all along.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from pipeline.readers.printed_numbers import is_undefined, scaled, whole

Row = dict[str, object]

# Not in quotes: programs that print or read such tables have their headers in their source.
HEADER = re.compile(
    r"#bytes[ \t]+(?:#sl[ \t]+)?#iterations[ \t]+(?=BW peak\[|t_min\[|t_avg\[)"
    r"""[^\n"'\\]{1,500}$""",
    re.MULTILINE,
)

_PER_SECOND = {"MB/sec": 1 << 20, "MiB/sec": 1 << 20, "Gb/sec": 125_000_000}
_MILLION = 1_000_000
_NS_PER_US = 1000
# Name in a header -> column, unit's factor (None: by the unit in the brackets), decimals.
# Columns of one port of two are read and left: their sum is in the table.
_KNOWN: tuple[tuple[str, str, int | Decimal | None, int], ...] = (
    (r"#bytes", "size_bytes", 1, 0),
    (r"#sl", "service_level", 1, 0),
    (r"#iterations", "iteration_count", 1, 0),
    (r"BW peak\[(?P<unit>[^\]]{1,12})\]", "peak_bandwidth_bytes_per_s", None, 2),
    (r"BW average\[(?P<unit>[^\]]{1,12})\]", "bandwidth_bytes_per_s", None, 2),
    (r"MsgRate\[Mpps\]", "message_rate_per_s", _MILLION, 6),
    (r"BW Port[12]\[(?P<unit>[^\]]{1,12})\]", "", None, 2),
    (r"MsgRate Port[12]\[Mpps\]", "", _MILLION, 6),
    (r"t_min\[usec\]", "latency_min_ns", _NS_PER_US, 2),
    (r"t_max\[usec\]", "latency_max_ns", _NS_PER_US, 2),
    (r"t_typical\[usec\]", "latency_typical_ns", _NS_PER_US, 2),
    (r"t_avg\[usec\]", "latency_avg_ns", _NS_PER_US, 2),
    (r"t_stdev\[usec\]", "latency_stdev_ns", _NS_PER_US, 2),
    (r"99% percentile\[usec\]", "latency_p99_ns", _NS_PER_US, 2),
    (r"99\.9% percentile\[usec\]", "latency_p999_ns", _NS_PER_US, 2),
    (r"tps average(?:\[tps\])?", "message_rate_per_s", 1, 2),
    (r"CPU_Util\[%{1,2}\]", "cpu_busy_share", Decimal("0.01"), 2),
)
_SLACK = 0.01  # pasted tables were rounded again
_WHOLE = ("size_bytes", "iteration_count", "service_level")


@dataclass(frozen=True)
class Column:
    """``name`` is empty for a column that is not kept; ``unit`` is the printed one."""

    name: str
    scale: int | Decimal
    decimals: int
    unit: str = ""


@dataclass(frozen=True)
class Columns:
    """The columns of one table, in their order."""

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def is_latency(self) -> bool:
        return any(column.name.startswith("latency") for column in self.columns)

    def row(self, words: list[str]) -> Row | None:
        """A row's cells in base units; None when one of them is no number."""
        row: Row = {"kind": "latency" if self.is_latency else "bandwidth"}
        for column, word in zip(self.columns, words, strict=True):
            value = _cell(column, word)
            if value is None and not is_undefined(word):
                return None
            if column.name:
                row[column.name] = value
        if not row.get("peak_bandwidth_bytes_per_s"):
            row["peak_bandwidth_bytes_per_s"] = None  # 0.00: not measured, as with -D
        return row if row.get("size_bytes") else None  # no message is of 0 bytes

    def may_be_cut(self, words: list[str]) -> bool:
        """Whether the last cell has fewer decimals than perftest prints."""
        return len(words[-1].partition(".")[2]) < self.columns[-1].decimals

    def contradicts_itself(self, words: list[str]) -> bool:
        """Whether bandwidth is not size times rate, or latencies are out of order.

        Old versions counted the bytes of both directions and the messages of one: twice is fine.
        """
        cells = {c.name: (c, w) for c, w in zip(self.columns, words, strict=True)}

        def span(name: str) -> tuple[float, float] | None:
            """A cell's least and largest value before it was rounded."""
            column, word = cells.get(name, (None, ""))
            value = _cell(column, word) if column else None
            if value is None or column is None:
                return None
            half = float(column.scale) * 0.5001 / 10 ** len(word.partition(".")[2])
            return value - half, value + half

        size, rate = span("size_bytes"), span("message_rate_per_s")
        bandwidth = span("bandwidth_bytes_per_s")
        if size and rate and bandwidth:
            bytes_ = (size[0] + size[1]) / 2
            return not any(
                bytes_ * rate[0] * times <= bandwidth[1] * (1 + _SLACK)
                and bytes_ * rate[1] * times >= bandwidth[0] * (1 - _SLACK)
                for times in (1, 2)
            )
        order = [span(f"latency_{name}_ns") for name in ("min", "typical", "p99", "p999", "max")]
        known = [one for one in order if one]
        return any(a[0] > b[1] for a, b in pairwise(known))


def _cell(column: Column, word: str) -> float | int | None:
    if column.name in _WHOLE:
        number = whole(word)
        return number if column.name != "service_level" or (number or 0) < 1 << 31 else None
    return scaled(word, column.scale)


def columns_of(header: str) -> Columns | None:
    """The columns that a header names; None when it names any that is not known."""
    rest, found = header.strip(), []
    while rest:
        for pattern, name, scale, decimals in _KNOWN:
            match = re.match(pattern, rest)
            if match:
                unit = match.groupdict().get("unit") or ""
                factor = _PER_SECOND.get(unit) if scale is None else scale
                if factor is None:
                    return None
                found.append(Column(name, factor, decimals, unit))
                rest = rest[match.end() :].lstrip()
                break
        else:
            return None
    names = [column.name for column in found if column.name]
    if len(names) != len(set(names)):
        return None
    return Columns(tuple(found))
