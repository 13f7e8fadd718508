"""The profiled kernels of one file: their numbers, and what is known of each at the end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline import catalog
from pipeline.readers.ncu_kernels import (
    LAUNCH_METRICS,
    Row,
    identity_columns,
    local_ns,
    shared,
    whole,
)
from pipeline.readers.ncu_lines import Header

_SEPARATOR = "\x1f"  # separates the cells of a key
_ROWS_PER_BATCH = 65_536

# 2022.3 prints another stream in the rows of rules than in those of metrics.
_NO_KEY = frozenset(("Context", "Stream", "Host Name"))


class Kernels:
    """The kernels of one file, numbered in order of appearance.

    A kernel on several pages of a report is one. An ID that comes again in another table of the
    same kind, or twice on a raw page, is another kernel: files of ranks put together.

    A file may hold millions: what launches of one kernel share is kept once.
    """

    def __init__(self) -> None:
        self.metric_counts: list[int] = []  # on details pages
        self._ncu_ids: list[int] = []
        self._about: list[int] = []  # which of the shared rows each kernel has
        self._shared: list[Row] = []
        self._numbers: dict[str, int] = {}
        self._launched: dict[tuple[int, str, int], int] = {}
        self._ids: dict[tuple[str, int], int] = {}
        # Per page: key -> line of the header it was last met under, how often it came anew.
        self._met: dict[str, dict[str, tuple[int, int]]] = {"details": {}, "raw": {}}
        # Of raw pages: kernels whose IDs only rise are new without being looked up.
        self._largest = -1
        # (line of the header, the first, which key each has, the keys without their IDs)
        self._unlisted: list[tuple[int, int, np.ndarray, pa.Array]] = []

    def __len__(self) -> int:
        return len(self._ncu_ids)

    def row(self, kernel: int) -> Row:
        """What is known of a kernel so far."""
        own: Row = {"kernel_id": kernel, "ncu_id": self._ncu_ids[kernel]}
        return own | self._shared[self._about[kernel]]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The kernels as rows of ``kernel_profile``."""
        schema = catalog.arrow_schemas()["kernel_profile"]
        for at in range(0, len(self), _ROWS_PER_BATCH):
            about, code = np.unique(self._about[at : at + _ROWS_PER_BATCH], return_inverse=True)
            rows = [self._shared[number] for number in about.tolist()]
            shared = pa.RecordBatch.from_pylist(rows, schema=schema).take(pa.array(code))
            own = {
                "kernel_id": pa.array(np.arange(at, at + len(code), dtype=np.int64)),
                "ncu_id": pa.array(self._ncu_ids[at : at + _ROWS_PER_BATCH], pa.int64()),
            }
            columns = [own.get(name, shared.column(name)) for name in schema.names]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def ids(self, header: Header, table: pa.Table) -> np.ndarray:
        """The kernel of each row of ``table``; -1 where a row does not say one."""
        columns = identity_columns(header)
        if header.page == "raw":  # a row is a kernel: launches of one differ in their ID alone
            return self._ids_of_raw(header, columns, table)
        keys = _joined(table, _of_key(columns))
        encoded = pc.binary_join_element_wise(_printed(table), keys, _SEPARATOR)
        codes, first = _first_of_each(encoded.dictionary_encode())
        distinct = table.select(list(columns)).take(first).to_pylist()
        ids = [
            self._id(header, encoded[at].as_py(), cells.get("ID"), self._fixed(cells, columns))
            for at, cells in zip(first.tolist(), distinct, strict=True)
        ]
        found: np.ndarray = np.array(ids, np.int64)[codes]
        return found

    def _ids_of_raw(self, header: Header, columns: tuple[str, ...], table: pa.Table) -> np.ndarray:
        others = [name for name in columns if name != "ID"]
        codes, first = _first_of_each(_joined(table, others).dictionary_encode())
        distinct = table.select(others).take(first)
        known = [self._fixed(cells, columns) for cells in distinct.to_pylist()]
        rest = _joined(distinct, _of_key(columns))
        numbers = self._rising(table.column("ID")) if None not in known else None
        if numbers is not None:
            self._unlisted.append((header.number, len(self), codes.astype(np.int32), rest))
            about = np.array(known, np.int64)[codes]
            return self._add(numbers.tolist(), about.tolist())
        keys = pc.binary_join_element_wise(_printed(table), rest.take(pa.array(codes)), _SEPARATOR)
        rows = zip(keys.to_pylist(), table.column("ID").to_pylist(), codes.tolist(), strict=True)
        ids = [self._id(header, key, number, known[code]) for key, number, code in rows]
        return np.array(ids, np.int64)

    def _rising(self, printed: pa.ChunkedArray) -> np.ndarray | None:
        """The IDs of rows of a raw page, None unless they plainly are those of new kernels:
        they rise, there is no other page, and each is the number that it looks like."""
        if self._met["details"] or printed.null_count:
            return None
        try:
            numbers = pc.cast(printed, pa.int64())
        except pa.ArrowInvalid:
            return None
        found: np.ndarray = numbers.to_numpy()
        is_rising = found[0] > self._largest and (np.diff(found) > 0).all()
        if not is_rising or not pc.all(pc.equal(pc.cast(numbers, pa.string()), printed)).as_py():
            return None
        self._largest = int(found[-1])
        return found

    def _add(self, ncu_ids: list[int], about: list[int]) -> np.ndarray:
        first = len(self)
        self._ncu_ids += ncu_ids
        self._about += about
        self.metric_counts += [0] * len(ncu_ids)
        return np.arange(first, len(self), dtype=np.int64)

    def _list(self) -> None:
        """Makes kernels that were added unlooked-up ones that can be found by their key."""
        met = self._met["raw"]
        for table, first, codes, rest in self._unlisted:
            keys = rest.to_pylist()
            for kernel, code in enumerate(codes.tolist(), first):
                key = f"{self._ncu_ids[kernel]}{_SEPARATOR}{keys[code]}"
                met[key] = table, 0
                self._ids[key, 0] = kernel
        self._unlisted.clear()

    def _id(self, header: Header, key: str, printed: str | None, about: int | None) -> int:
        number = whole(printed)
        if number is None or about is None:
            return -1
        if self._unlisted:
            self._list()
        met = self._met[header.page]
        table, times = met.get(key, (header.number, 0))
        if key in met and (table != header.number or header.page == "raw"):
            times += 1
        met[key] = header.number, times
        kernel = self._ids.setdefault((key, times), len(self))
        if kernel == len(self):
            self._add([number], [about])
        if header.page == "raw":
            self._largest = max(self._largest, number)
        return kernel

    def _fixed(self, cells: Row, columns: tuple[str, ...]) -> int | None:
        """The number of what launches of one kernel share; None where a row does not say its
        kernel."""
        if not cells["Kernel Name"]:
            return None
        if "Process ID" in cells and whole(_text(cells, "Process ID"), 1 << 31) is None:
            return None
        key = _SEPARATOR.join(_text(cells, name) for name in columns if name != "ID")
        number = self._numbers.setdefault(key, len(self._shared))
        if number == len(self._shared):
            self._shared.append(
                {
                    "context_id": whole(_text(cells, "Context")),
                    "stream_id": whole(_text(cells, "Stream")),
                    "profiled_local_ns": local_ns(_text(cells, "Kernel Time")),
                    **shared(cells, columns),
                }
            )
        return number

    def add_launch(self, kernel: int, metric: str, value: float) -> None:
        """Takes from a launch metric what the identity columns left open."""
        column = LAUNCH_METRICS[metric]
        limit = 1 << (31 if column.startswith(("block_x", "block_y", "block_z", "dev")) else 53)
        about = self._about[kernel]
        if self._shared[about].get(column) is None and value == int(value) and 0 <= value < limit:
            key = about, column, int(value)
            number = self._launched.setdefault(key, len(self._shared))
            if number == len(self._shared):
                self._shared.append(self._shared[about] | {column: int(value)})
            self._about[kernel] = number

    @property
    def has_short_last(self) -> bool:
        """Whether the last kernel of several has fewer metrics than any other."""
        counts = self.metric_counts
        return len(counts) > 1 and 0 < counts[-1] < min(counts[:-1])


def _of_key(columns: tuple[str, ...]) -> list[str]:
    """The identity columns that a kernel is known by, beside its ID."""
    return [name for name in columns if name not in _NO_KEY and name != "ID"]


def _joined(table: pa.Table, columns: list[str]) -> pa.Array:
    cells = [pc.fill_null(table.column(name), "") for name in columns]
    return pc.binary_join_element_wise(*cells, _SEPARATOR).combine_chunks()


def _printed(table: pa.Table) -> pa.Array:
    return pc.fill_null(table.column("ID"), "").combine_chunks()


def _first_of_each(encoded: pa.DictionaryArray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the distinct ones each is, and where each of them comes first."""
    codes: np.ndarray = encoded.indices.to_numpy()
    return codes, np.unique(codes, return_index=True)[1]


def _text(cells: Row, name: str) -> str:
    return str(cells.get(name) or "")
