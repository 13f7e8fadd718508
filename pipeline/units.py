"""Base units to text, for terminal and HTML alike: the only place that scales for people.

The unit of a column is the end of its name (``_ns``, ``_bytes``, ``_bytes_per_s``,
``_share`` ...), so a table needs nothing but its column names to be printed.
"""

from __future__ import annotations

import math
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
)


def show(column: str, value: Value) -> str:
    """``value`` of ``column`` as a person reads it; NULL is an en dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return _printable(str(value))
    if column in _IDENTIFIERS or not math.isfinite(value):
        return str(value)
    if column.endswith("_utc_ns"):
        return utc(int(value))
    if column.endswith("_ns"):
        return time(value)
    if "_share_of_" in column:
        return share(value)
    if "flops_per_s" in column:
        return flops(value)
    for ending, render in _BY_ENDING:
        if column.endswith(ending) or column == ending[1:]:
            return render(value)
    return count(value)


def _printable(text: str) -> str:
    """Control characters, which could steer a terminal, as their escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def utc(ns: int) -> str:
    """Nanoseconds since 1970 as ``2022-11-11 00:14:37 UTC``."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def table(columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> str:
    """Rows as an aligned text table; numbers to the right, text to the left."""
    cells = [[show(c, v) for c, v in zip(columns, row, strict=True)] for row in rows]
    is_number = [
        any(isinstance(row[i], int | float) for row in rows)
        and all(row[i] is None or isinstance(row[i], int | float) for row in rows)
        for i in range(len(columns))
    ]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(columns)]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, is_number, strict=True)
        )
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([line(list(columns)), rule, *(line(row) for row in cells)])
