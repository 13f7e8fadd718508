"""Lines of a table as columns of text: vectorised, ragged rows by themselves."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from pipeline.readers.ncu_lines import Header, Rows
from pipeline.readers.ncu_numbers import may_be_doubtful
from pipeline.readers.text import Skipped

_REASON = "a row of {found} cells under a header of {expected}"


@dataclass
class Cells:
    """Rows of one width: a column of text per name (empty cells are NULL), the lines' numbers."""

    header: Header
    table: pa.Table
    numbers: np.ndarray
    lines: Sequence[bytes]
    is_doubtful: bool  # whether a cell may be of another locale than it looks

    def where(self, mask: np.ndarray) -> Cells:
        """The rows that ``mask`` keeps."""
        if mask.all():
            return self
        lines = [line for line, keep in zip(self.lines, mask, strict=True) if keep]
        table, numbers = self.table.filter(pa.array(mask)), self.numbers[mask]
        return Cells(self.header, table, numbers, lines, self.is_doubtful)


def cells(rows: Rows, skipped: Skipped, numeric: Sequence[str] = ()) -> list[Cells]:
    """The rows by width: whole ones, and those that leave the rule columns out.

    Columns called ``numeric`` come as numbers where every cell of theirs is one.
    """
    header = rows.header
    width = header.metric_width
    if width == len(header.columns):
        found = [_cells(rows, width, rows.numbers, rows.lines, skipped, numeric)]
    else:
        # A metric's row ends with a comma after its value: 16 cells under a header of 20.
        is_short = [line.endswith(b'",') for line in rows.lines]
        short = [at for at, flag in enumerate(is_short) if flag]
        long = [at for at, flag in enumerate(is_short) if not flag]
        found = [
            _cells(
                rows,
                width,
                numbers_at(rows, short),
                [rows.lines[at][:-1] for at in short],
                skipped,
            ),
            _cells(
                rows,
                len(header.columns),
                numbers_at(rows, long),
                [rows.lines[at] for at in long],
                skipped,
            ),
        ]
    return [part for part in found if part.table.num_rows]


def numbers_at(rows: Rows, where: list[int]) -> list[int]:
    """The numbers of some of the lines."""
    return [rows.numbers[at] for at in where]


def _cells(
    rows: Rows,
    width: int,
    numbers: list[int],
    lines: list[bytes],
    skipped: Skipped,
    numeric: Sequence[str] = (),
) -> Cells:
    header = rows.header
    names = list(header.columns[:width])
    bad: dict[int, int] = {}  # row -> how many cells it has

    def is_bad(row: pacsv.InvalidRow) -> str:
        bad[row.number - 1] = row.actual_columns
        return "skip"

    # A record of several lines, and one that Arrow might take for an empty line.
    is_plain = all(b"\n" not in line for line in lines) and width > 1
    table = None
    block = b"\n".join(lines) + b"\n"
    is_doubtful = may_be_doubtful(block)
    if is_plain and numeric and not is_doubtful:
        table = _by_arrow(names, block, is_bad, numeric)
    if is_plain and table is None:
        bad.clear()
        table = _by_arrow(names, block, is_bad)
    # Arrow and we may see the quotes of a damaged line in different ways.
    if table is None or table.num_rows + len(bad) != len(lines):
        bad.clear()
        table = _one_by_one(names, lines, bad)
    for at, found in sorted(bad.items()):
        if found < width:
            rows.short_at = max(rows.short_at, numbers[at])
        reason = _REASON.format(found=found, expected=len(header.columns))
        skipped.add(reason, numbers[at], lines[at].decode("utf-8", "replace"))
    kept = [at for at in range(len(lines)) if at not in bad]
    if len(kept) < len(lines):
        lines, numbers = [lines[at] for at in kept], [numbers[at] for at in kept]
    return Cells(header, table, np.array(numbers, np.int64), lines, is_doubtful)


def _by_arrow(
    names: list[str], block: bytes, is_bad: object, numeric: Sequence[str] = ()
) -> pa.Table | None:
    if block == b"\n":
        return pa.table({name: pa.array([], pa.string()) for name in names})
    if not block.isascii():  # Arrow refuses all of a block for one bad byte
        block = block.decode("utf-8", "replace").encode()
    try:
        return pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(
                column_names=names, use_threads=False, block_size=len(block) + 1
            ),
            parse_options=pacsv.ParseOptions(invalid_row_handler=is_bad),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string())
                | dict.fromkeys(numeric, pa.float64()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        ).combine_chunks()
    except pa.ArrowInvalid:
        return None


def _one_by_one(names: list[str], lines: list[bytes], bad: dict[int, int]) -> pa.Table:
    columns: list[list[str | None]] = [[] for _ in names]
    for at, line in enumerate(lines):
        try:
            row = next(csv.reader(line.decode("utf-8", "replace").splitlines(keepends=True)), [])
        except csv.Error:
            row = []
        if len(row) != len(names):
            bad[at] = len(row)
            continue
        for column, cell in zip(columns, row, strict=True):
            column.append(cell or None)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.table(dict(zip(names, arrays, strict=True)))
