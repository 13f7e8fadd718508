"""Reads the CSV of ``nvidia-smi --query-gpu``: a header of columns, one row per GPU and round."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers.foreign_lines import Strays, begins_other, is_of_other
from pipeline.readers.launcher_prefix import Prefixed, without_prefix
from pipeline.readers.record import Facts, Head, Hints, Issue, Part, Recording, Refused
from pipeline.readers.smi_columns import (
    Column,
    columns_of,
    has_unit,
    has_whole_end,
    looks_like_row,
    looks_like_value,
)
from pipeline.readers.smi_query_rows import Found, Line, Rows
from pipeline.readers.text import lines_with_end, without_escapes

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "nvidia-smi-query"
SUFFIXES: tuple[str, ...] = ()

_OWN = "smi_query"
_HEADER_LIKE = re.compile(r"^\ufeff?[ \t]*[A-Za-z0-9\[(][^\n]*,[^\n]*$", re.MULTILINE)
_TIME_BEGIN = re.compile(r"\d{4}[/-]\d\d[/-]\d\d \d", re.ASCII)
_LINES_LOOKED_AT = 20
# So that a table is decoded in pieces that fit the processor's cache.
_CELLS_AT_ONCE = 262_144
_WAY_OUT = "look at the line; rows that a full disk or a kill cut short cannot be repaired"


def recognise(head: Head) -> bool:
    """Whether the text has a header line of ``nvidia-smi --query-gpu --format=csv``."""
    return any(
        columns_of(without_prefix(found[0].lstrip("\ufeff")).line)
        for found in _HEADER_LIKE.finditer(head.text)
        if "." in found[0] or "[" in found[0]
    )


def why_not(head: Head, beside: list[str]) -> Refused | None:
    """Rows without their header (``--format=csv,noheader``) cannot be told apart."""
    rows = [line for line in head.text[:65536].splitlines() if line.strip()][:_LINES_LOOKED_AT]
    tables = [[cell.strip() for cell in row.split(",")] for row in rows]
    if len(tables) > 1 and not head.text.endswith("\n"):
        tables.pop()
    is_table = len({len(cells) for cells in tables}) == 1 and len(tables[0]) > 1
    if not is_table or not all(
        looks_like_row(cells, len(cells)) and any(map(has_unit, cells)) for cells in tables
    ):
        return None
    return Refused(
        "a CSV of nvidia-smi without its header line: nothing says what its columns are",
        "put the header line on top of it, or query without noheader",
    )


def read(path: Path, name: str, pieces: int, hints: Hints) -> Recording:
    """The samples and the GPUs of ``nvidia-smi --query-gpu``; a table of rounds is one piece.

    The refusal is set while reading, when no row could be used.
    """
    facts = Facts(FORMAT, host=hints.host, status_reason="the format has no end mark")
    recording = Recording(facts, [])
    log = _Log(path, recording, Found(hints, facts))
    recording.parts.append(Part("gpu_sample", log.batches))
    recording.closing_parts.append(log.found.devices.part())
    return recording


@dataclass
class _Table:
    """One table in a log: a launcher may mix those of several tasks line by line.

    ``is_over``: a block of another format began below it.
    """

    rows: Rows
    columns: list[Column]
    lines: list[Line] = field(default_factory=list)
    strays: Strays = field(default_factory=Strays)
    is_over: bool = False

    def is_row(self, line: str, cells: list[str]) -> bool:
        """Whether a line with a cell for each column is a row, perhaps a damaged one."""
        return self._begins_with_time(line) or looks_like_row(cells, len(self.columns))

    def looks_like_row(self, line: str, cells: list[str]) -> bool:
        """Whether a line with other cells than the table has columns may be a damaged row."""
        if self._begins_with_time(line):
            return len(cells) > 1
        if self.is_over:
            return False
        is_short = len(cells) > 1 and all(looks_like_value(cell.strip()) for cell in cells)
        return is_short or looks_like_row(cells, len(self.columns))

    def _begins_with_time(self, line: str) -> bool:
        return self.columns[0].name == "timestamp" and bool(_TIME_BEGIN.match(line))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows that wait."""
        lines, self.lines = self.lines, []
        if lines:
            yield from self.rows.batches(self.columns, lines)


@dataclass
class _Log:
    """The state of reading one file: a table per launcher's prefix, mostly one."""

    path: Path
    recording: Recording
    found: Found
    tables: dict[tuple[object, ...], _Table] = field(default_factory=dict)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of ``gpu_sample``, of each table in the order of the file."""
        for at, line, has_end in lines_with_end(self.path):
            yield from self._take(at, without_escapes(line).strip("\ufeff \t"), has_end)
        for table in self.tables.values():
            yield from table.batches()
        self._tell()

    def _take(self, at: int, line: str, has_end: bool) -> Iterator[pa.RecordBatch]:
        bare = without_prefix(line)
        columns = columns_of(bare.line) if bare.line[:1].isalpha() else []
        if columns:
            yield from self._begin(bare, columns)
            return
        table = self.tables.get(bare.who)
        if table is None:
            bare = Prefixed(line)
            table = self.tables.get(bare.who)
        if table is None or not bare.line:
            return
        self._take_line(table, at, bare.line, has_end)
        if len(table.lines) * len(table.columns) >= _CELLS_AT_ONCE:
            yield from table.batches()

    def _begin(self, bare: Prefixed, columns: list[Column]) -> Iterator[pa.RecordBatch]:
        """A header; another one of the same task is another run of nvidia-smi."""
        table = self.tables.get(bare.who)
        if table is None:
            # Tasks have the same indices of GPUs: nothing else says that they are of other hosts.
            task = None if bare.task is None else f"task{bare.task}"
            host = self.found.hints.host or bare.host or task
            self.tables[bare.who] = _Table(Rows(self.found, host), columns)
            return
        yield from table.batches()
        table.columns, table.is_over = columns, False
        table.strays.drop()

    def _take_line(self, table: _Table, at: int, line: str, has_end: bool) -> None:
        cells = line.split(",")
        skipped = self.found.skipped
        if len(cells) == len(table.columns) and table.is_row(line, cells):
            if has_end or has_whole_end(cells[-1].strip(), table.columns[-1]):
                table.strays.tell(skipped)
                table.lines.append(Line(at, line, cells))
            else:
                self._cut(at, line)
        elif begins_other(line, _OWN):
            table.strays.drop()
            table.is_over = True
        elif is_of_other(line):
            return
        elif table.looks_like_row(line, cells):
            if not has_end:
                self._cut(at, line)
                return
            problem = f"a row of {len(cells)} cells below {len(table.columns)} columns"
            skipped.add(problem, at, line)
        elif not table.is_over:
            table.strays.hold(at, line)

    def _cut(self, at: int, line: str) -> None:
        facts = self.recording.facts
        facts.status, facts.status_reason = "incomplete", "its last line is cut short"
        self.found.skipped.add("the last line is cut short", at, line)

    # -- what is told at the end -----------------------------------------------------------

    def _tell(self) -> None:
        found = self.found
        for issue in [*found.skipped.issues(_WAY_OUT), *found.series.issues()]:
            self.recording.report(issue)
        for said, count in sorted(found.non_values.items()):
            if count:
                problem = f"cells of known metrics say '{said}'"
                self.recording.report(Issue("note", "", problem, "", count))
        left_out = sorted(name for name, count in found.left_out.items() if count)
        if left_out:
            problem = f"columns of no known metric or unit, left out: {', '.join(left_out)}"
            self.recording.report(Issue("note", "", problem, "", found.left_out.total()))
        if found.series.row_count:
            return
        if found.row_count and found.non_values.total() and not found.series.reasons:
            return  # GPUs that measured nothing: what they are is told all the same
        for table in self.tables.values():
            table.strays.tell(found.skipped)
        self.recording.refusal = _refusal(found)


def _refusal(found: Found) -> Refused:
    nothing = "the CSV of nvidia-smi has no row that can be used"
    if found.skipped.count:
        return found.skipped.refusal(nothing, _WAY_OUT)
    if found.series.reasons:
        nothing += f": {next(iter(found.series.reasons))}"
    elif found.left_out.total():
        nothing = "none of the CSV's columns is of a known metric in a known unit"
    else:
        nothing = "a CSV of nvidia-smi with its header only"
    return Refused(nothing, "check what nvidia-smi was asked for, and that it saw a GPU")
