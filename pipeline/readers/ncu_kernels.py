"""Profiled kernels: who a row is about, and what is known of each kernel at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.ncu_lines import IDENTITY, Header

Row = dict[str, object]

_SEPARATOR = "\x1f"  # separates the cells of a key
_DIMENSIONS = re.compile(r"\((\d{1,10}), ?(\d{1,10}), ?(\d{1,10})\)")
_CC = re.compile(r"\d{1,2}\.\d")
_RANGE = re.compile(r'"([^"]*)"')
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = re.compile(r"(\d{4})-([A-Z][a-z]{2})-(\d\d) (\d\d):(\d\d):(\d\d)")

# 2022.3 prints another stream in the rows of rules than in those of metrics.
_NO_KEY = frozenset(("Context", "Stream", "Host Name"))

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


def _joined(table: pa.Table, columns: list[str]) -> pa.Array:
    cells = [pc.fill_null(table.column(name), "") for name in columns]
    return pc.binary_join_element_wise(*cells, _SEPARATOR).combine_chunks()


def _first_of_each(encoded: pa.DictionaryArray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the distinct ones each is, and where each of them comes first."""
    codes: np.ndarray = encoded.indices.to_numpy()
    return codes, np.unique(codes, return_index=True)[1]


def _text(cells: Row, name: str) -> str:
    return str(cells.get(name) or "")


class Kernels:
    """The kernels of one file, numbered in order of appearance.

    A kernel on several pages of a report is one. An ID that comes again in another table of the
    same kind, or twice on a raw page, is another kernel: files of ranks put together.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.metric_counts: list[int] = []  # on details pages
        self._ids: dict[tuple[str, int], int] = {}
        self._about: dict[str, Row] = {}
        # Per page: key -> line of the header it was last met under, how often it came anew.
        self._met: dict[str, dict[str, tuple[int, int]]] = {"details": {}, "raw": {}}

    def ids(self, header: Header, table: pa.Table) -> np.ndarray:
        """The kernel of each row of ``table``; -1 where a row does not say one."""
        columns = identity_columns(header)
        keys = _joined(table, [name for name in columns if name not in _NO_KEY])
        if header.page == "raw":  # a row is a kernel: launches of one differ in their ID alone
            others = [name for name in columns if name != "ID"]
            encoded = _joined(table, others).dictionary_encode()
            codes, first = _first_of_each(encoded)
            distinct = table.select(others).take(first).to_pylist()
            known = [self._fixed(cells, columns) for cells in distinct]
            printed = table.column("ID").to_pylist()
            rows = zip(keys.to_pylist(), printed, codes.tolist(), strict=True)
            ids = [self._id(header, key, number, known[code]) for key, number, code in rows]
            return np.array(ids, np.int64)
        encoded = keys.dictionary_encode()
        codes, first = _first_of_each(encoded)
        distinct = table.select(list(columns)).take(first).to_pylist()
        ids = [
            self._id(header, key, cells.get("ID"), self._fixed(cells, columns))
            for key, cells in zip(encoded.dictionary.to_pylist(), distinct, strict=True)
        ]
        found: np.ndarray = np.array(ids, np.int64)[codes]
        return found

    def _id(self, header: Header, key: str, printed: str | None, fixed: Row | None) -> int:
        number = whole(printed)
        if number is None or fixed is None:
            return -1
        met = self._met[header.page]
        table, times = met.get(key, (header.number, 0))
        if key in met and (table != header.number or header.page == "raw"):
            times += 1
        met[key] = header.number, times
        kernel = self._ids.setdefault((key, times), len(self.rows))
        if kernel == len(self.rows):
            self.rows.append({"kernel_id": kernel, "ncu_id": number, **fixed})
            self.metric_counts.append(0)
        return kernel

    def _fixed(self, cells: Row, columns: tuple[str, ...]) -> Row | None:
        """What launches of one kernel share; None where a row does not say its kernel."""
        if not cells["Kernel Name"]:
            return None
        if "Process ID" in cells and whole(_text(cells, "Process ID"), 1 << 31) is None:
            return None
        key = _SEPARATOR.join(_text(cells, name) for name in columns if name != "ID")
        about = self._about.get(key)
        if about is None:
            about = self._about[key] = {
                "context_id": whole(_text(cells, "Context")),
                "stream_id": whole(_text(cells, "Stream")),
                "profiled_local_ns": local_ns(_text(cells, "Kernel Time")),
                **shared(cells, columns),
            }
        return about

    def add_launch(self, kernel: int, metric: str, value: float) -> None:
        """Takes from a launch metric what the identity columns left open."""
        column = LAUNCH_METRICS[metric]
        limit = 1 << (31 if column.startswith(("block_x", "block_y", "block_z", "dev")) else 53)
        if self.rows[kernel].get(column) is None and value == int(value) and 0 <= value < limit:
            self.rows[kernel][column] = int(value)

    @property
    def has_short_last(self) -> bool:
        """Whether the last kernel of several has fewer metrics than any other."""
        counts = self.metric_counts
        return len(counts) > 1 and 0 < counts[-1] < min(counts[:-1])
