"""Base units to text, for terminal and HTML alike: the only place that scales for people.

The unit of a column is the end of its name (``_ns``, ``_bytes``, ``_bytes_per_s``,
``_share`` ...), so a table needs nothing but its column names to be printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

Value = object

_TIME = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def _scaled(value: float, steps: Sequence[tuple[float, str]], unit: str = "") -> str:
    size = abs(value)
    for factor, prefix in steps:
        if size >= factor:
            return f"{_three_digits(value / factor)} {prefix}{unit}".rstrip()
    return f"{_three_digits(value)} {steps[-1][1]}{unit}".rstrip()


def _three_digits(value: float) -> str:
    size = abs(value)
    if value == int(value) and size < 1000:
        return str(int(value))
    if 0 < size < 0.1:
        return f"{value:.3g}"  # not 0.00, which would be none at all
    places = 2 if size < 10 else 1 if size < 100 else 0
    return f"{value:.{places}f}"


def time(ns: float) -> str:
    """Nanoseconds as text: ``1500`` -> ``1.50 us``."""
    return _scaled(ns, _TIME)


def size(count: float) -> str:
    """Bytes as text, decimal prefixes: ``83886080`` -> ``83.9 MB``."""
    return _scaled(count, _DECIMAL, "B")


def rate(per_s: float) -> str:
    """Bytes per second as text: ``2.1e10`` -> ``21.0 GB/s``."""
    return _scaled(per_s, _DECIMAL, "B/s")


def flops(per_s: float) -> str:
    """FLOP per second as text: ``9.894e14`` -> ``989 TFLOP/s``."""
    return _scaled(per_s, _DECIMAL, "FLOP/s")


def share(part: float) -> str:
    """A fraction as per cent: ``0.1234`` -> ``12.3 %``."""
    return f"{part * 100:.1f} %"


def frequency(hz: float) -> str:
    """Hertz as text: ``1.41e9`` -> ``1.41 GHz``."""
    return _scaled(hz, _DECIMAL, "Hz")


def count(number: float) -> str:
    """A count with thousands separated by spaces: ``22564`` -> ``22 564``."""
    if number != int(number) and abs(number) < 1000:
        return _three_digits(number)
    return f"{int(number):,}".replace(",", " ")


def power(w: float) -> str:
    """Watts as text: ``1200`` -> ``1.20 kW``."""
    return _scaled(w, _DECIMAL, "W")


def energy(j: float) -> str:
    """Joules as text: ``3.6e6`` -> ``3.60 MJ``."""
    return _scaled(j, _DECIMAL, "J")


def temperature(celsius: float) -> str:
    """Degrees as text: ``88`` -> ``88 C``."""
    return f"{_three_digits(celsius)} C"


def ratio(times: float) -> str:
    """A factor as text: ``1.3`` -> ``1.30x``."""
    return f"{_three_digits(times)}x"


# Clock times and identifiers: scaling an identifier would make it another one.
_IDENTIFIERS = frozenset(
    (
        "context_id",
        "correlation_id",
        "destination_device_id",
        "device_id",
        "device_key",
        "domain_id",
        "end_thread",
        "gpu_key",
        "graph_exec_id",
        "graph_id",
        "graph_node_id",
        "local_rank",
        "name_id",
        "priority",
        "process",
        "rank",
        "return_code",
        "source_device_id",
        "step",
        "stream_id",
        "thread",
        "window_index",
    )
)

_BY_ENDING = (
    ("_bytes_per_s", rate),
    ("_bytes", size),
    ("_share", share),
    ("_hz", frequency),
    ("_celsius", temperature),
    ("_w", power),
    ("_j", energy),
    ("_ratio", ratio),
)

# Base units within a sentence that a query has made.
_SPOKEN = {"ns": time, "bytes": size, "Hz": frequency}
_SPOKEN_NUMBER = re.compile(r"(?<![\w.,-])(\d+) (ns|bytes|Hz)\b")
_SENTENCES = frozenset(("conditions", "cost_reason", "detail", "doubt", "reason", "summary"))


def prose(text: str) -> str:
    """A sentence with base units as people read it: ``late by 2500 ns`` -> ``late by 2.50 us``."""
    return _SPOKEN_NUMBER.sub(lambda found: _SPOKEN[found[2]](int(found[1])), text)


def quantity(unit: str, value: Value) -> str:
    """``value`` of a unit that may be a thing counted: ``4``, ``GPU`` -> ``4 GPUs``."""
    is_base = any(f"_{unit}".endswith(ending) for ending, _ in _BY_ENDING) or unit == "ns"
    if is_base or not unit or not isinstance(value, int | float) or math.isnan(value):
        return show(unit, value)
    return f"{count(value)} {unit}{'' if value == 1 else 's'}"


def show(column: str, value: Value) -> str:
    """``value`` of ``column`` as a person reads it; NULL is an en dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        text = printable(str(value))
        return prose(text) if column in _SENTENCES else text
    if column in _IDENTIFIERS or not math.isfinite(value):
        return str(value)
    if column.endswith("_utc_ns"):
        return utc(int(value))
    if column.endswith("_ns") or column == "ns":
        return time(value)
    if "_share_of_" in column:
        return share(value)
    if "flops_per_s" in column:
        return flops(value)
    for ending, render in _BY_ENDING:
        if column.endswith(ending) or column == ending[1:]:
            return render(value)
    return count(value)


def printable(text: str) -> str:
    """Control characters, which could steer a terminal, as their escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def utc(ns: int) -> str:
    """Nanoseconds since 1970 as ``2022-11-11 00:14:37 UTC``."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def table(columns: Sequence[str], rows: Sequence[Sequence[Value]], width: int | None = None) -> str:
    """Rows as an aligned text table; numbers to the right, text to the left.

    Within ``width`` columns where it is given: long texts are cut then, and what has no room
    follows below, each row with its number.
    """
    cells = [[show(c, v) for c, v in zip(columns, row, strict=True)] for row in rows]
    is_number = [
        any(isinstance(row[i], int | float) for row in rows)
        and all(row[i] is None or isinstance(row[i], int | float) for row in rows)
        for i in range(len(columns))
    ]
    if width is not None:
        longest = max(_LEAST_CELL, width // 3)
        cells = [[c if len(c) <= longest else c[: longest - 1] + "…" for c in row] for row in cells]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    bands = _bands(widths, width)
    made = []
    for band in bands:
        lines = [
            [
                columns[i].rjust(widths[i]) if is_number[i] else columns[i].ljust(widths[i])
                for i in band
            ],
            ["-" * widths[i] for i in band],
            *(
                [row[i].rjust(widths[i]) if is_number[i] else row[i].ljust(widths[i]) for i in band]
                for row in cells
            ),
        ]
        if len(bands) > 1:
            digits = len(str(len(cells)))
            numbers = ["#", "-", *(str(n) for n in range(1, len(cells) + 1))]
            lines = [
                [n * digits if n == "-" else n.rjust(digits), *line]
                for n, line in zip(numbers, lines, strict=True)
            ]
        made.append("\n".join("  ".join(line).rstrip() for line in lines))
    return "\n\n".join(made)


# Shorter cells are not cut, however narrow the terminal.
_LEAST_CELL = 24


def _bands(widths: Sequence[int], width: int | None) -> list[list[int]]:
    """Columns that fit beside each other, in their order."""
    if width is None or sum(widths) + 2 * (len(widths) - 1) <= width:
        return [list(range(len(widths)))]
    bands: list[list[int]] = [[]]
    used = room = width - 6  # the row's number before them
    for i, one in enumerate(widths):
        if not bands[-1] or used + 2 + one > room:
            bands.append([])
            used = -2
        bands[-1].append(i)
        used += 2 + one
    return [band for band in bands if band]
