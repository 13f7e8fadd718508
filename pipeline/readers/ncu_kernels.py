"""What the identity columns of a row say of its kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

from pipeline.readers.ncu_lines import IDENTITY, Header

Row = dict[str, object]

_DIMENSIONS = re.compile(r"\((\d{1,10}), ?(\d{1,10}), ?(\d{1,10})\)")
_CC = re.compile(r"\d{1,2}\.\d")
_RANGE = re.compile(r'"([^"]*)"')
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = re.compile(r"(\d{4})-([A-Z][a-z]{2})-(\d\d) (\d\d):(\d\d):(\d\d)")

# Launch metrics that say what the identity columns of old layouts do not.
LAUNCH_METRICS = {
    "launch__grid_dim_x": "grid_x",
    "launch__grid_dim_y": "grid_y",
    "launch__grid_dim_z": "grid_z",
    "launch__grid_size": "grid_block_count",
    "launch__block_dim_x": "block_x",
    "launch__block_dim_y": "block_y",
    "launch__block_dim_z": "block_z",
    "launch__block_size": "block_thread_count",
    "launch__context_id": "context_id",
    "launch__stream_id": "stream_id",
    "launch__device_id": "device_id",
}


def nvtx_columns(header: Header) -> tuple[str, ...]:
    """The columns of push/pop and of start/end ranges, as far as there are any."""
    starts = ("thread Domain:", "Id:Domain:", "Range:")
    return tuple(name for name in header.columns if name.startswith(starts))


def identity_columns(header: Header) -> tuple[str, ...]:
    """The columns that say which kernel a row is about."""
    nvtx = nvtx_columns(header)
    return tuple(name for name in header.columns if name in IDENTITY or name in nvtx)


def whole(text: str | None, below: int = 1 << 63) -> int | None:
    """A whole number without separators, None if it is none or too large."""
    if text and len(text) < 20 and text.isascii() and text.isdigit() and int(text) < below:
        return int(text)
    return None


def local_ns(text: str | None) -> int | None:
    """``2022-Nov-21 15:45:04`` as ns since 1970 as if it were UTC, None if it is no time."""
    found = _TIME.fullmatch(text or "")
    if not found or found[2] not in _MONTHS:
        return None
    year, day, hour, minute, second = (int(found[at]) for at in (1, 3, 4, 5, 6))
    try:
        month = _MONTHS.index(found[2]) + 1
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    found_ns = int(moment.timestamp()) * 1_000_000_000
    return found_ns if 0 <= found_ns < 1 << 63 else None


@lru_cache(4096)
def dimensions(name: str, total: str, text: str | None) -> Row:
    """A grid or a block: ``(256, 1, 1)``, or its size alone (summaries of 2022.3)."""
    found = _DIMENSIONS.fullmatch(text or "")
    if found and all(int(part) < 1 << 31 for part in found.groups()):
        x, y, z = (int(part) for part in found.groups())
        return {
            f"{name}_x": x,
            f"{name}_y": y,
            f"{name}_z": z,
            total: x * y * z if x * y * z < 1 << 63 else None,
        }
    return {total: whole(text, 1 << 31)}


def nvtx_path(cell: str | None, domain: str | None = None) -> str | None:
    """The ranges of a cell, outermost first, without payload, colour and message."""
    names = [_range_name(text, domain) for text in _RANGE.findall(cell or "")]
    return "/".join(names) or None


def _range_name(text: str, domain: str | None) -> str:
    parts = text.split(":")
    first = 0 if domain is not None else 1  # where the range's name begins
    colons = (len(parts) - first - 7) // 2
    name = parts[first : first + colons + 1]
    # The message repeats a name given as text, with whatever colons are in it.
    if colons < 0 or len(parts) - first - 7 != 2 * colons or parts[-colons - 1 :] != name:
        name = parts[first:-6] if len(parts) > first + 6 else parts[first:]
    return ":".join([domain if domain is not None else parts[0], *name])


def shared(cells: Row, columns: Iterable[str]) -> Row:
    """What kernels and summaries have in common."""
    text = {name: str(value) for name, value in cells.items() if value}
    cc = text.get("CC", "")
    row: Row = {
        "process": whole(text.get("Process ID"), 1 << 31),
        "process_name": text.get("Process Name"),
        "name": text.get("Kernel Name"),
        "device_id": whole(text.get("Device", text.get("Device Id")), 1 << 31),
        "compute_capability": cc if _CC.fullmatch(cc) else None,
        **dimensions("grid", "grid_block_count", text.get("Grid Size")),
        **dimensions("block", "block_thread_count", text.get("Block Size")),
    }
    for name in columns:
        cell = text.get(name)
        if name.startswith("thread Domain:"):
            row["nvtx"] = nvtx_path(cell)
            row["nvtx_thread_id"] = whole((cell or "").partition(" ")[0])
        elif name.startswith("Id:Domain:"):
            row["nvtx_start_end"] = nvtx_path(cell)
        elif name.startswith("Range:"):
            row["nvtx"] = nvtx_path(cell, text.get("Domain", ""))
    return row
