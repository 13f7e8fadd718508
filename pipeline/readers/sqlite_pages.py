"""Read columns of a SQLite table to Arrow record batches, decoding the file's pages with numpy.

Section names in quotes are those of https://www.sqlite.org/fileformat2.html.

A file is an array of pages of equal size, numbered from 1; page 1 begins with a 100-byte header.
A table is a b-tree ordered by rowid.  Interior pages hold (child page, greatest rowid below it)
and a rightmost child; leaf pages hold the rows.  Every page lists the offsets of its cells, and
a leaf cell is

    varint payload size | varint rowid | payload, as much as fits | first overflow page, if not all

A payload is a record: a header (its own length, then one *serial type* per column) and a body
that holds the values one after the other.  The serial type says what a value is and how long:

    0 NULL   1-6 big-endian integer of 1, 2, 3, 4, 6, 8 bytes   7 double   8, 9 the integers 0, 1
    even >= 12 BLOB, odd >= 13 TEXT, of (type - 12) / 2 bytes

So a batch of leaf pages is decoded column by column: `_leaf_rows` finds all records,
`_fields` walks their headers and learns where each value lies, `_decode` gathers the values.
Columns whose type is the same in all rows of a batch stand at a fixed distance from each other;
one gather copies such neighbours together, and a constant or NULL column costs nothing.

The numpy path never guesses.  What it does not support, and whatever looks inconsistent, is read
by the sqlite3 driver instead (slow, always right, the one to say that a file is damaged).  It
checks the order of rowids before the records, so rows already given out are neither repeated nor
lost.  The input is opened read-only and never locked; where a journal must be replayed, that is
done on a private copy.

Conversion, the same on both paths; NULL stays NULL, and what does not fit is NULL and counted
in `misfits`:

    int     INTEGER; REAL when integral and within int64
    float   INTEGER, REAL
    text    TEXT and BLOB as UTF-8, invalid bytes replaced; numbers as SQLite writes them
    bytes   TEXT and BLOB unchanged
"""

import contextlib
import itertools
import os
import shutil
import sqlite3
import tempfile
import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Kind = Literal["int", "float", "text", "bytes"]
_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Ints: TypeAlias = npt.NDArray[np.int64]

_ARROW = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "bytes": pa.binary()}
_NUMPY = {"int": np.int64, "float": np.float64}
_MAGIC = b"SQLite format 3\0"
_BATCH_BYTES = 3 << 19  # of leaf pages: small enough to stay in the processor's cache
_OVERFLOW_BYTES = 16 << 20  # of overflowing records in one batch
_DRIVER_ROWS = 16384  # in one batch of the driver, unless _OVERFLOW_BYTES end it earlier
_WINDOW = 32  # widest gather of neighbouring values
_PADDING = 2 * _WINDOW  # after the last page, so that a window may begin at any value
_INTERIOR, _LEAF = 5, 13  # "B-tree Pages": page types of a table b-tree
_MAX_DEPTH = 20  # the driver's own limit on the depth of a b-tree
_MAX_PAYLOAD = 2**31 - 1
_SIZES = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0] + [(t - 12) // 2 for t in range(12, 128)])


class DamagedDatabase(Exception):
    """Not a readable SQLite database; str() says what is wrong in a few words."""


class _Unsupported(Exception):
    """These records need the driver; the pages around them are sound."""


class _Disorder(Exception):
    """The b-tree itself is not as it should be: no rowid in it can be relied on."""


@dataclass(frozen=True)
class Column:
    """A column as written in CREATE TABLE."""

    name: str
    declared_type: str


@dataclass(frozen=True)
class Slice:
    """Leaf pages [first, last) of a table, which hold its rowids in (after, through]."""

    first: int
    last: int
    after: int | None
    through: int | None


@dataclass(frozen=True)
class _Table:
    root: int
    columns: tuple[Column, ...]
    alias: int | None  # the column that is another name of the rowid
    defaults: frozenset[int]  # columns with a DEFAULT that is not NULL
    rowid: str | None  # a name by which SQL reaches the rowid
    obstacle: str | None  # why only the driver can read this table


@dataclass(frozen=True)
class _Leaves:
    """Leaf pages in rowid order, and the greatest rowid that each may hold."""

    pages: _Ints
    upto: _Ints


@dataclass(frozen=True)
class _Field:
    """Where one column's values lie: row i's begins at origin[i] + offset."""

    types: npt.NDArray[Any]
    low: int  # least and greatest serial type
    high: int
    size: int | _Ints
    origin: _Ints
    offset: int


# ------------------------------------------------------------------------------------- pages


def _uint16(buffer: _Bytes, at: _Ints) -> _Ints:
    return buffer.take(at).astype(np.int64) << 8 | buffer.take(at + 1)


def _uint32(buffer: _Bytes, at: _Ints) -> _Ints:
    return _uint16(buffer, at) << 16 | _uint16(buffer, at + 2)


def _varints(buffer: _Bytes, at: _Ints) -> tuple[_Ints, _Ints]:
    """The varints at the given positions, and the positions after them ("B-tree Pages").

    Seven bits a byte, most significant first, while the top bit is set; a ninth byte counts whole.
    """
    byte = buffer.take(at)
    value = (byte & 127).astype(np.int64)
    at = at + 1
    rows: slice | _Ints = slice(None)  # those that go on; as long as all do, a slice is faster
    for length in range(2, 10):
        going = byte >= 128
        if not going.any():
            break
        if not going.all():
            rows = np.flatnonzero(going) if isinstance(rows, slice) else rows[going]
        byte = buffer.take(at[rows])
        at[rows] += 1
        if length < 9:
            value[rows] = value[rows] << 7 | byte & 127
        else:
            value[rows] = value[rows] << 8 | byte
    return value, at


def _windows(buffer: _Bytes, at: _Ints, width: int) -> _Bytes:
    """The `width` bytes from each position on, one row each."""
    every = np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, strides=(1,))
    return every[at].view(np.uint8).reshape(-1, width)


class _Pages:
    """The pages of one file."""

    def __init__(self, fd: int, page_size: int, reserved: int, count: int) -> None:
        self.fd = fd
        self.size = page_size
        self.usable = page_size - reserved
        self.count = count

    def read(self, pages: _Ints) -> _Bytes:
        """The given pages one after the other, and some padding."""
        if pages.min() < 1 or pages.max() > self.count:
            raise _Disorder("page number outside the file")
        buffer = np.empty(len(pages) * self.size + _PADDING, np.uint8)
        buffer[-_PADDING:] = 0
        starts = np.flatnonzero(np.diff(pages, prepend=-1) != 1).tolist()  # of runs of neighbours
        for first, last in zip(starts, [*starts[1:], len(pages)], strict=True):
            target = buffer[first * self.size : last * self.size]
            # pread, not mmap: memory stays bounded, and a file cut short is no SIGBUS
            start = (int(pages[first]) - 1) * self.size
            if os.preadv(self.fd, [target.data], start) != len(target):
                raise _Disorder("page beyond the end of the file")
        return buffer

    def cells(self, pages: _Ints, buffer: _Bytes, page_type: int) -> tuple[_Ints, _Ints]:
        """The cells of pages of one type, in key order: how many in each page, and where.

        "B-tree Pages": type at 0, number of cells at 3, cell pointers after the page header.
        """
        base = np.arange(len(pages)) * self.size
        header = base + np.where(pages == 1, 100, 0)
        if (buffer.take(header) != page_type).any():
            raise _Disorder("page of an unexpected type")
        counts = _uint16(buffer, header + 3)
        pointers = header + (12 if page_type == _INTERIOR else 8)
        if (pointers + 2 * counts > base + self.usable).any():
            raise _Disorder("more cells than fit a page")
        before = np.cumsum(counts) - counts  # cells of the pages before
        pointer = np.repeat(pointers - 2 * before, counts)
        pointer += 2 * np.arange(len(pointer))
        offset = _uint16(buffer, pointer)
        if len(offset) and offset.max() > self.usable - 4:
            raise _Disorder("cell outside its page")
        return counts, np.repeat(base, counts) + offset

    def leaves(self, root: int) -> _Leaves:
        """The leaf pages below a root: level by level, as all leaves are at the same depth."""
        pages = np.array([root], np.int64)
        upto = np.array([np.iinfo(np.int64).max])
        for _ in range(_MAX_DEPTH):
            first = self.read(pages[:1])[100 if pages[0] == 1 else 0]
            if first == _LEAF:
                return _Leaves(pages, upto)
            if first != _INTERIOR:
                raise _Disorder("root is no page of a rowid table")
            pages, upto = self._children(pages, upto)
        raise _Disorder("b-tree too deep")

    def _children(self, pages: _Ints, upto: _Ints) -> tuple[_Ints, _Ints]:
        buffer = self.read(pages)
        counts, cell = self.cells(pages, buffer, _INTERIOR)
        if (counts == 0).any():
            raise _Disorder("interior page without cells")
        children = np.empty(len(cell) + len(pages), np.int64)
        keys = np.empty_like(children)
        # every page before the cell's added its rightmost child
        nth = np.arange(len(cell)) + np.repeat(np.arange(len(pages)), counts)
        rightmost = np.cumsum(counts + 1) - 1
        children[nth] = _uint32(buffer, cell)
        keys[nth] = _varints(buffer, cell + 4)[0]
        header = np.arange(len(pages)) * self.size + np.where(pages == 1, 100, 0)
        children[rightmost] = _uint32(buffer, header + 8)
        keys[rightmost] = upto
        if children.min() < 1 or children.max() > self.count:
            raise _Disorder("page number outside the file")
        if len(children) > self.count or (keys[1:] <= keys[:-1]).any():
            raise _Disorder("keys out of order")  # so a page cannot occur twice, or in a circle
        return children, keys

    def overflow(self, page: int, length: int) -> bytes:
        """The first `length` bytes of an overflow chain ("Cell Payload Overflow Pages")."""
        parts: list[bytes] = []
        while length > 0:
            if not 1 <= page <= self.count:
                raise _Unsupported("overflow page outside the file")
            data = os.pread(self.fd, self.usable, (page - 1) * self.size)
            page = int.from_bytes(data[:4], "big")
            parts.append(data[4 : 4 + length])
            length -= self.usable - 4
        return b"".join(parts)


# ----------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class _Rows:
    """Rows of some leaf pages: where their payload begins, how long it is, where the page ends."""

    buffer: _Bytes
    rowid: _Ints
    start: _Ints
    payload: _Ints
    page_end: _Ints

    def part(self, rows: slice | _Ints, start: _Ints, buffer: _Bytes) -> "_Rows":
        """Some of the rows, which now begin at `start` in `buffer`."""
        return _Rows(buffer, self.rowid[rows], start, self.payload[rows], self.page_end[rows])


def _leaf_rows(pages: _Pages, leaves: _Leaves, first: int, last: int) -> _Rows:
    """All rows of leaves [first, last); their rowids are checked to be where they belong."""
    numbers = leaves.pages[first:last]
    buffer = pages.read(numbers)
    counts, cell = pages.cells(numbers, buffer, _LEAF)
    if (counts == 0).any() and len(leaves.pages) > 1:
        raise _Disorder("empty leaf page")
    payload, at = _varints(buffer, cell)
    rowid, start = _varints(buffer, at)
    if len(rowid):
        ends = np.cumsum(counts)
        low, high = rowid[ends - counts], rowid[ends - 1]
        below = leaves.upto[max(first - 1, 0) : last - 1]  # greatest rowid of the leaf before
        if (
            (rowid[1:] <= rowid[:-1]).any()
            or (high > leaves.upto[first:last]).any()
            or (low[len(low) - len(below) :] <= below).any()
        ):
            raise _Disorder("rowids out of order")
    page_end = (cell & -pages.size) + pages.usable
    return _Rows(buffer, rowid, start, payload, page_end)


def _local_size(payload: _Ints, usable: int) -> _Ints:
    """How much of a payload is in its leaf page ("Cell Payload Overflow Pages")."""
    most = usable - 35
    least = (usable - 12) * 32 // 255 - 23
    fitting = least + (payload - least) % (usable - 4)  # leaves only full overflow pages
    return np.where(payload <= most, payload, np.where(fitting <= most, fitting, least))


class _Headers:
    """Walks the headers of many records at once ("Record Format")."""

    def __init__(self, buffer: _Bytes, rows: _Rows, columns: int) -> None:
        length, self.at = _varints(buffer, rows.start)
        self.buffer = buffer
        self.end = rows.start + length
        self.missing = False  # whether some record was too short to have the last column
        if (self.end < self.at).any() or (length > rows.payload).any():
            raise _Unsupported("record header of impossible length")
        self.flat: deque[_Bytes] = deque()
        if (self.end - self.at).min() >= columns:
            flat = np.ascontiguousarray(_windows(buffer, self.at, columns).T)
            if flat.max() < 128:  # the common case: every serial type is one byte
                self.flat.extend(flat)
                self.at = self.at + columns

    def next(self) -> npt.NDArray[Any]:
        """The next column's serial types; a record with fewer columns has NULL there."""
        if self.flat:
            return self.flat.popleft()
        there = self.at < self.end
        self.missing = not there.all()
        if self.missing:
            types = np.zeros(len(there), np.int64)
            types[there], self.at[there] = _varints(self.buffer, self.at[there])
        else:
            types, self.at = _varints(self.buffer, self.at)
        if (self.at > self.end).any() or types.min() < 0 or types.max() > 2 * _MAX_PAYLOAD:
            raise _Unsupported("damaged record header")
        return types


def _size(types: npt.NDArray[Any], low: int, high: int) -> int | _Ints:
    """The sizes of the values; a plain int if all have the same serial type."""
    if high < 128:
        return int(_SIZES[low]) if low == high else _SIZES.take(types)
    if low == high:
        return (low - 12) // 2
    return np.where(types < 12, _SIZES.take(np.minimum(types, 12)), (types - 12) >> 1)


def _fields(rows: _Rows, table: _Table, wanted: Mapping[int, Kind]) -> dict[int, _Field]:
    """Where the values of the wanted columns lie."""
    columns = max(wanted) + 1
    headers = _Headers(rows.buffer, rows, columns)
    origin, offset = headers.end, 0
    fields = {}
    for column in range(columns):
        types = headers.next()
        low, high = int(types.min()), int(types.max())
        size = _size(types, low, high)
        if column in wanted:
            fields[column] = _Field(types, low, high, size, origin, offset)
            if headers.missing and column in table.defaults:
                raise _Unsupported("record without a column that has a default")
        if isinstance(size, int):
            offset += size
        else:
            origin, offset = origin + (size + offset), 0
    used = origin + (offset - rows.start)
    complete = headers.at == headers.end
    if (used > rows.payload).any() or (complete & (used != rows.payload)).any():
        raise _Unsupported("record of another length than its header says")
    return fields


def _reach(rows: _Rows, local: _Ints, columns: int) -> _Ints:
    """How many bytes of each record its header, which must be local, and first columns take."""
    if (_varints(rows.buffer, rows.start)[0] > local).any():
        raise _Unsupported("record header in an overflow page")
    headers = _Headers(rows.buffer, rows, columns)
    reach = headers.end - rows.start
    for _ in range(columns):
        types = headers.next()
        reach = reach + _size(types, int(types.min()), int(types.max()))
    if (reach > rows.payload).any():
        raise _Unsupported("record of another length than its header says")
    return reach


def _whole_rows(pages: _Pages, rows: _Rows, columns: int) -> Iterator[_Rows]:
    """The same rows, with the first columns of each record in one piece, in bounded portions.

    Records that reach into overflow pages are put together behind the leaf pages.
    """
    if len(rows.payload) == 0:
        return
    if rows.payload.min() < 0 or rows.payload.max() > _MAX_PAYLOAD:
        raise _Unsupported("payload of impossible size")
    if rows.payload.max() <= pages.usable - 35:
        if (rows.start + rows.payload > rows.page_end).any():
            raise _Unsupported("cell reaches beyond its page")
        yield rows
        return
    local = _local_size(rows.payload, pages.usable)
    spilled = np.flatnonzero(local < rows.payload)
    end = rows.start + local
    end[spilled] += 4  # the number of the first overflow page
    if (end > rows.page_end).any():
        raise _Unsupported("cell reaches beyond its page")
    part = rows.part(spilled, rows.start[spilled], rows.buffer)
    reach = np.zeros(len(rows.payload), np.int64)
    reach[spilled] = _reach(part, local[spilled], columns)
    reach[reach <= local] = 0  # nothing is wanted from the overflow pages
    if reach.max() > pages.count * pages.size:
        raise _Unsupported("record longer than the file")
    portion = np.cumsum(reach) // _OVERFLOW_BYTES
    starts = np.flatnonzero(np.diff(portion, prepend=-1)).tolist()
    for first, last in zip(starts, [*starts[1:], len(portion)], strict=True):
        some = slice(first, last)
        part = rows.part(some, rows.start[some], rows.buffer)
        yield _joined(pages, part, local[some], reach[some])


def _joined(pages: _Pages, rows: _Rows, local: _Ints, reach: _Ints) -> _Rows:
    """The rows with `reach` bytes of each record in one piece, where that is not 0."""
    parts = [rows.buffer[:-_PADDING]]
    start = rows.start.copy()
    end = len(parts[0])
    for row in np.flatnonzero(reach).tolist():
        split = int(rows.start[row] + local[row])
        chain = int.from_bytes(rows.buffer[split : split + 4].tobytes(), "big")
        rest = pages.overflow(chain, int(reach[row] - local[row]))
        parts += [rows.buffer[rows.start[row] : split], np.frombuffer(rest, np.uint8)]
        start[row] = end
        end += int(local[row]) + len(rest)
        if start[row] + reach[row] != end:
            raise _Unsupported("overflow page beyond the end of the file")
    if end + _PADDING > _MAX_PAYLOAD:
        raise _Unsupported("record too long")
    parts.append(np.zeros(_PADDING, np.uint8))
    return rows.part(slice(None), start, np.concatenate(parts))


# ------------------------------------------------------------------------------------ values


def _array(kind: Kind, values: npt.NDArray[Any], null: npt.NDArray[np.bool_] | None) -> pa.Array:
    """An Arrow array on numpy's memory; pa.array() would import pandas, if it is there."""
    valid = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    return pa.Array.from_buffers(_ARROW[kind], len(values), [valid, pa.py_buffer(values)])


def _array_of_list(kind: Kind, values: list[Any]) -> pa.Array:
    """The same for values as `_fit` returns them."""
    null = np.array([value is None for value in values], np.bool_)
    if kind in _NUMPY:
        return _array(
            kind, np.array([0 if value is None else value for value in values], _NUMPY[kind]), null
        )
    ends = np.cumsum([0, *(len(value or b"") for value in values)])
    if ends[-1] > _MAX_PAYLOAD:
        raise DamagedDatabase("text too long")
    content = b"".join(value or b"" for value in values)
    valid = pa.py_buffer(np.packbits(~null, bitorder="little"))
    buffers = [valid, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(content)]
    return pa.Array.from_buffers(_ARROW[kind], len(values), buffers)


def _raw_numbers(
    buffer: _Bytes, fields: Mapping[int, _Field]
) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """For each column, the eight bytes from where its values begin; one gather for neighbours."""
    near: dict[tuple[int, int], list[int]] = {}
    for column, field in fields.items():
        near.setdefault((id(field.origin), field.offset // (_WINDOW - 8)), []).append(column)
    for columns in near.values():
        first, last = fields[columns[0]], fields[columns[-1]]
        width = last.offset + 8 - first.offset
        window = _windows(buffer, first.origin + first.offset, width)
        for column in columns:
            skip = fields[column].offset - first.offset
            yield column, np.ndarray((len(window),), ">i8", window, skip, strides=(width,))


def _constant(kind: Kind, rows: int, serial_type: int) -> pa.Array:
    """The same NULL, 0 or 1 in every row."""
    if serial_type == 0:
        return pa.nulls(rows, _ARROW[kind])
    return _array(kind, np.full(rows, serial_type - 8, _NUMPY[kind]), None)


def _numbers(kind: Kind, field: _Field, raw: npt.NDArray[Any], is_real_column: bool) -> pa.Array:
    types, low, high = field.types, field.low, field.high
    if high > 9:
        raise _Unsupported(f"value that is no number in a column read as {kind}")
    null = types == 0 if low == 0 else None
    integers = raw.astype(np.int64)
    integers >>= 64 - 8 * field.size  # keeps the sign; a shift by 64 (no bytes) is allowed
    if high >= 8:
        integers = np.where(types >= 8, types - 8, integers)
    has_real = low <= 7 <= high and bool((types == 7).any())
    if kind == "int":
        if has_real or (is_real_column and (types == 6).any()):  # such a column rounds to double
            raise _Unsupported("REAL in a column read as int")
        return _array(kind, integers, null)
    doubles = integers.astype(np.float64)
    if has_real:
        np.copyto(doubles, raw.view(">f8"), where=types == 7)
        not_a_number = np.isnan(doubles)
        if not_a_number.any():  # which SQLite reads as NULL
            null = not_a_number if null is None else null | not_a_number
    return _array(kind, doubles, null)


def _strings(kind: Kind, field: _Field, buffer: _Bytes) -> pa.Array:
    """Texts or blobs: Arrow views into the pages, which Arrow then copies together.

    A view is int32 length, then the bytes themselves if at most 12, else int32 prefix (unused
    here), buffer number and offset.
    """
    types, size = field.types, field.size
    if field.high == 0:
        return pa.nulls(len(types), _ARROW[kind])
    if field.low < 12 and (types[types < 12] != 0).any():
        raise _Unsupported(f"number in a column read as {kind}")
    at = field.origin + field.offset
    views = np.empty((len(types), 16), np.uint8)
    views[:, 4:] = _windows(buffer, at, 12)
    fields = views.view(np.int32)
    fields[:, 0] = size
    far = np.broadcast_to(size, len(types)) > 12
    np.copyto(fields[:, 2], 0, where=far)
    np.copyto(fields[:, 3], at, where=far, casting="same_kind")
    valid = None
    if field.low == 0:
        valid = pa.py_buffer(np.packbits(types != 0, bitorder="little"))
    pointers = [valid, pa.py_buffer(views), pa.py_buffer(buffer)]
    found = pa.Array.from_buffers(pa.binary_view(), len(types), pointers)
    if kind == "bytes":
        return found.cast(pa.binary())
    try:
        return found.cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8
        return _array_of_list(kind, [_fit(kind, value) for value in found.to_pylist()])


def _decode(rows: _Rows, table: _Table, wanted: Mapping[int, Kind]) -> list[pa.Array]:
    """The wanted columns, in the order of `wanted`."""
    arrays = {}
    stored = {}  # numbers that must be fetched
    for column, field in _fields(rows, table, wanted).items():
        kind = wanted[column]
        if column == table.alias:
            if kind not in _NUMPY:
                raise _Unsupported(f"rowid read as {kind}")
            arrays[column] = _array(kind, rows.rowid.astype(_NUMPY[kind]), None)
        elif kind not in _NUMPY:
            arrays[column] = _strings(kind, field, rows.buffer)
        elif field.low == field.high and field.low in (0, 8, 9):
            arrays[column] = _constant(kind, len(field.types), field.low)
        else:
            stored[column] = field
    for column, raw in _raw_numbers(rows.buffer, stored):
        is_real = _may_be_real(table.columns[column].declared_type)
        arrays[column] = _numbers(wanted[column], stored[column], raw, is_real)
    return [arrays[column] for column in wanted]


def _may_be_real(declared_type: str) -> bool:
    """Whether the column may convert integers to doubles as it is read (REAL affinity)."""
    return any(word in declared_type.upper() for word in ("REAL", "FLOA", "DOUB"))


def _fit(kind: Kind, value: Any) -> Any:
    """A value of the driver as the kind asks for it; None if it does not fit."""
    if isinstance(value, bytes):
        if kind == "text":
            return value.decode("utf-8", "replace").encode()
        return value if kind == "bytes" else None
    if kind == "float" and value is not None:
        return float(value)
    if kind == "int" and isinstance(value, float):
        return int(value) if value.is_integer() and -(2.0**63) <= value < 2.0**63 else None
    return value if kind == "int" else None


# ------------------------------------------------------------------------------------ driver


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def _driver(uri: str) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise DamagedDatabase(str(error)) from error
    except UnicodeDecodeError as error:  # SQLite quotes the damaged text in its message
        raise DamagedDatabase("malformed database schema") from error


def _schema(connection: sqlite3.Connection) -> dict[str, _Table]:
    names = connection.execute(
        "SELECT name, rootpage FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        " AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"  # virtual tables have no root page
    ).fetchall()
    return {name: _table(connection, name, root) for name, root in names}


def _table(connection: sqlite3.Connection, name: str, root: int) -> _Table:
    def pragma(columns: str, function: str) -> list[Any]:
        return connection.execute(f"SELECT {columns} FROM {function}(?)", [name]).fetchall()

    rows = pragma("name, type, dflt_value, pk, hidden", "pragma_table_xinfo")
    columns = tuple(Column(row[0], row[1] or "") for row in rows)
    defaults = {i for i, row in enumerate(rows) if row[2] and row[2].upper() != "NULL"}
    keys = [i for i, row in enumerate(rows) if row[3]]
    # "Representation Of SQL Tables": INTEGER PRIMARY KEY is the rowid.  It then needs no index of
    # its own, unlike the other primary keys, INTEGER PRIMARY KEY DESC among them.
    has_index = ("pk",) in pragma("origin", "pragma_index_list")
    is_alias = len(keys) == 1 and columns[keys[0]].declared_type.upper() == "INTEGER"
    taken = {column.name.lower() for column in columns}
    rowid = next((word for word in ("rowid", "_rowid_", "oid") if word not in taken), None)
    obstacle = None
    if pragma("name", "pragma_index_info"):  # has rows for a table only if it is its own index
        obstacle, rowid = "WITHOUT ROWID", None
    elif any(row[4] for row in rows):
        obstacle = "generated columns"
    elif rowid is None:
        obstacle = "columns hide the rowid"
    alias = keys[0] if is_alias and not has_index else None
    return _Table(root, columns, alias, frozenset(defaults), rowid, obstacle)


def _select(name: str, table: _Table, columns: Mapping[str, Kind]) -> str:
    """SELECT in rowid order; NOT INDEXED, lest an index that has all columns sets the order."""
    expressions = []
    for column, kind in columns.items():
        quoted = _quoted(column)
        expressions.append(
            f"CASE WHEN typeof({quoted}) IN ('integer', 'real') THEN CAST({quoted} AS TEXT)"
            f" ELSE {quoted} END"
            if kind == "text"
            else quoted
        )
    return f"SELECT {', '.join(expressions)} FROM main.{_quoted(name)} NOT INDEXED"


def _portions(cursor: sqlite3.Cursor) -> Iterator[list[Any]]:
    """Rows in lists of bounded size."""
    rows: list[Any] = []
    size = 0
    for row in cursor:
        rows.append(row)
        size += sum(len(value) for value in row if isinstance(value, bytes))
        if len(rows) >= _DRIVER_ROWS or size >= _OVERFLOW_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


# -------------------------------------------------------------------------------------- file


class SqliteFile:
    """A SQLite database to read columns from; several threads may read slices at once.

    page_size  in bytes
    tables     name -> columns; without SQLite's own and virtual tables
    misfits    (table, column) -> values that were read as NULL because they did not fit the kind
    fallbacks  table -> why the driver read it, or batches of it
    """

    def __init__(self, path: str | os.PathLike[str], *, driver_only: bool = False) -> None:
        self.path = Path(path)
        self.misfits: dict[tuple[str, str], int] = {}
        self.fallbacks: dict[str, str] = {}
        self._lock = threading.Lock()
        self._leaves: dict[str, _Leaves | str] = {}
        self._close = contextlib.ExitStack()
        try:
            self._open("driver_only" if driver_only else None)
        except BaseException:
            self.close()
            raise

    def _open(self, obstacle: str | None) -> None:
        real = os.path.realpath(self.path)  # a journal lies beside the file, not beside a link
        fd = os.open(real, os.O_RDONLY | os.O_CLOEXEC)
        self._close.callback(os.close, fd)
        header = os.pread(fd, 100, 0)
        if not header.strip(b"\0"):
            raise DamagedDatabase("first page is zeros" if header else "empty file")
        if header[:16] != _MAGIC or len(header) < 100:
            raise DamagedDatabase("not a SQLite database")
        self._uri = f"file:{quote(os.fsencode(real))}?mode=ro&immutable=1"
        journals = [s for s in ("-wal", "-journal") if _size_of(real + s)]
        if journals:
            obstacle = f"live {journals[0]} file"
            folder = self._close.enter_context(tempfile.TemporaryDirectory())
            self._uri = f"file:{quote(_copied(real, journals, folder))}?mode=rw"
        with _driver(self._uri) as connection:
            self._tables = _schema(connection)
        self.tables = {name: table.columns for name, table in self._tables.items()}
        # "The Database Header"; the driver has already refused impossible values
        stored = int.from_bytes(header[16:18], "big")
        self.page_size = 65536 if stored == 1 else stored
        size = os.fstat(fd).st_size
        count = int.from_bytes(header[28:32], "big")
        if count == 0 or header[24:28] != header[92:96]:  # not kept up to date
            count = size // self.page_size
        if header[56:60] != b"\0\0\0\1":
            obstacle = obstacle or "not UTF-8"
        if size != count * self.page_size:
            obstacle = obstacle or "file size does not match the page count"
        self._obstacle = obstacle
        self._pages = _Pages(fd, self.page_size, header[20], count)

    def close(self) -> None:
        self._close.close()

    def __enter__(self) -> "SqliteFile":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def slices(self, table: str, count: int) -> list[Slice]:
        """Up to `count` pieces, in rowid order, that together are the table."""
        leaves = self._leaves_of(table)
        if isinstance(leaves, str):
            return [Slice(0, 0, None, None)]
        total = len(leaves.pages)
        cuts = sorted({total * i // count for i in range(count + 1)})
        return [
            Slice(
                first,
                last,
                int(leaves.upto[first - 1]) if first else None,
                int(leaves.upto[last - 1]) if last < total else None,
            )
            for first, last in itertools.pairwise(cuts)
        ]

    def row_estimate(self, table: str) -> int:
        """Roughly how many rows a table has, without reading it."""
        leaves = self._leaves_of(table)
        if isinstance(leaves, str):
            rowid = self._tables[table].rowid
            if rowid is None:
                return self._pages.count * self._pages.size // 64
            with _driver(self._uri) as connection:
                ends = [  # two queries: min and max in one would read the whole table
                    connection.execute(f"SELECT {end}({rowid}) FROM main.{_quoted(table)}")
                    for end in ("min", "max")
                ]
                first, last = (cursor.fetchone()[0] for cursor in ends)
                return 0 if first is None else int(last - first + 1)
        total = len(leaves.pages)
        sample = np.unique(np.linspace(0, total - 1, 8).astype(np.int64))
        numbers = leaves.pages[sample]
        header = np.arange(len(sample)) * self.page_size + np.where(numbers == 1, 100, 0)
        try:
            counts = _uint16(self._pages.read(numbers), header + 3)
        except _Disorder as trouble:
            raise DamagedDatabase(str(trouble)) from trouble
        return round(float(counts.mean()) * total)

    def batches(
        self,
        table: str,
        columns: Mapping[str, Kind],
        piece: Slice | None = None,
        counted: Collection[str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The columns, in that order, of the table or a piece of it, in rowid order.

        Misfits are counted in all columns or, where several passes read one table, in the
        `counted` ones.  Raises KeyError for what the table lacks, DamagedDatabase at once or
        while reading.
        """
        present = {column.name: i for i, column in enumerate(self._tables[table].columns)}
        wanted = {present[name]: kind for name, kind in columns.items()}
        counts = columns if counted is None else counted
        return self._batches(table, dict(columns), wanted, piece, counts)

    def _batches(
        self,
        table: str,
        columns: dict[str, Kind],
        wanted: dict[int, Kind],
        piece: Slice | None,
        counted: Collection[str],
    ) -> Iterator[pa.RecordBatch]:
        after = piece.after if piece else None
        through = piece.through if piece else None
        leaves = self._leaves_of(table)
        if isinstance(leaves, str):
            self._note(table, leaves)
            yield from self._driver_batches(table, columns, after, through, counted)
            return
        last_leaf = piece.last if piece else len(leaves.pages)
        step = max(1, _BATCH_BYTES // self.page_size)
        for first in range(piece.first if piece else 0, last_leaf, step):
            last = min(first + step, last_leaf)
            try:
                rows = _leaf_rows(self._pages, leaves, first, last)
            except _Disorder as trouble:
                if through is not None:  # rowids cannot bound this piece
                    raise DamagedDatabase(str(trouble)) from trouble
                self._note(table, str(trouble))
                yield from self._driver_batches(table, columns, after, None, counted)
                return
            try:
                for part in _whole_rows(self._pages, rows, max(wanted) + 1):
                    arrays = _decode(part, self._tables[table], wanted)
                    yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
                    after = int(part.rowid[-1])
            except _Unsupported as trouble:
                self._note(table, str(trouble))
                upto = int(leaves.upto[last - 1])
                yield from self._driver_batches(table, columns, after, upto, counted)
                after = upto

    def _driver_batches(
        self,
        table: str,
        columns: dict[str, Kind],
        after: int | None,
        through: int | None,
        counted: Collection[str],
    ) -> Iterator[pa.RecordBatch]:
        """The rows with rowid in (after, through], through the driver."""
        query = _select(table, self._tables[table], columns)
        rowid = self._tables[table].rowid
        bounds = {f"{rowid} > ?": after, f"{rowid} <= ?": through}
        given = {term: bound for term, bound in bounds.items() if bound is not None}
        if given:
            query += f" WHERE {' AND '.join(given)} ORDER BY {rowid}"
        with _driver(self._uri) as connection:
            connection.text_factory = bytes
            for rows in _portions(connection.execute(query, list(given.values()))):
                arrays = []
                for i, (name, kind) in enumerate(columns.items()):
                    values = [row[i] for row in rows]
                    fitted = [_fit(kind, value) for value in values]
                    if name in counted:
                        self._count(table, name, fitted.count(None) - values.count(None))
                    arrays.append(_array_of_list(kind, fitted))
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _leaves_of(self, table: str) -> _Leaves | str:
        """The table's leaf pages, or why only the driver can read it."""
        with self._lock:
            if table not in self._leaves:
                about = self._tables[table]
                found: _Leaves | str = self._obstacle or about.obstacle or ""
                if not found:
                    try:
                        found = self._pages.leaves(about.root)
                    except _Disorder as trouble:
                        found = str(trouble)
                self._leaves[table] = found
            return self._leaves[table]

    def _note(self, table: str, why: str) -> None:
        with self._lock:
            self.fallbacks.setdefault(table, why)

    def _count(self, table: str, column: str, misfits: int) -> None:
        if misfits:
            with self._lock:
                self.misfits[table, column] = self.misfits.get((table, column), 0) + misfits


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _copied(path: str, journals: list[str], folder: str) -> str:
    """A copy of a database and its journals, in which SQLite may replay them."""
    copy = os.path.join(folder, "copy.sqlite")
    for _ in range(3):
        before = [_state(path + suffix) for suffix in ("", *journals)]
        for suffix in ("", *journals):
            shutil.copyfile(path + suffix, copy + suffix)
        if before == [_state(path + suffix) for suffix in ("", *journals)]:
            return copy
    raise DamagedDatabase("being written to")


def _state(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns
