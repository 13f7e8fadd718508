"""What stands in a file of Nsight Compute: tables, ncu's own messages, the session page.

A live capture mixes the application's output, ``==PROF==`` messages and the table; messages
stand between rows too (2024.1), and files of several ranks are often one after the other.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.readers.text import Skipped, blocks

Page = Literal["details", "raw", "summary"]

# Identity columns of any layout, 2019 to 2026; a raw page's others are metrics.
IDENTITY = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "Device Id",
    "CC",
    "Invocations",
    "Domain",
)
_RULES = "Rule Name"
_MESSAGE = re.compile(r"==(PROF|WARNING|ERROR)== (.*)")
# The first cells of a header, wherever an application that ended its output without a newline
# put them.
_HEADER_STARTS = (b'"ID","Process ID"', b'"Process ID","Process Name"', b'"Domain","Range:')
_SESSION = re.compile(rb'"((?:Launch|Session|Device) Attribute|Process Id)","')
_ROW_DIGITS = 19
_ROW = re.compile(rb'"(?:\d{0,19}|<[^"]*)","')
_NEW = re.compile(
    rb'"\d+","\d+"|==(?:PROF|WARNING|ERROR)== |"(?:ID|Process ID|(?:Launch|Session) Attribute)"'
)
_PATH = re.compile(r"(?<![\w.])(?:/[^\s/\"']+)+/(?=[^\s/\"']+)")
_LONGEST_RECORD_LINES = 200
_LONGEST_MESSAGES = 100


@dataclass(frozen=True)
class Header:
    """The first line of a table."""

    columns: tuple[str, ...]
    page: Page
    number: int  # of the line
    is_quoted: bool = True

    @property
    def metric_width(self) -> int:
        """Cells of a row without rule columns: metric rows leave those out."""
        columns = self.columns
        return columns.index(_RULES) if _RULES in columns else len(columns)


@dataclass
class Rows:
    """Lines of one table that follow each other, a record each, with the numbers of the lines."""

    header: Header
    numbers: list[int] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    short_at: int = 0  # line of the last row with too few cells, once they are parsed


@dataclass
class Story:
    """What a file says beside its tables."""

    messages: list[tuple[str, str]] = field(default_factory=list)
    session: dict[str, dict[str, str]] = field(default_factory=dict)
    tables: int = 0
    has_source_page: bool = False
    has_text_page: bool = False
    is_cut: bool = False
    last_line: int = -1  # the last one that is not empty


def header_of(line: bytes, number: int = 0) -> Header | None:
    """The header in a line, None if there is none. Files saved again may lack the quotes."""
    if b"Kernel Name" not in line:
        return None
    starts = [at for start in _HEADER_STARTS if (at := line.find(start)) >= 0]
    text = line[min(starts) if starts else 0 :].decode("utf-8", "replace")
    is_quoted = text.startswith('"')
    try:
        columns = tuple(next(csv.reader([text]), ()))
    except csv.Error:
        return None
    names = set(columns)
    if "Kernel Name" not in names or len(names) != len(columns):
        return None
    if {"Minimum", "Maximum", "Average", "Metric Name"} <= names and "Invocations" in names:
        return Header(columns, "summary", number, is_quoted)
    if "ID" not in names:
        return None
    if {"Metric Name", "Metric Value"} <= names:
        return Header(columns, "details", number, is_quoted)
    if any("__" in name for name in columns):
        return Header(columns, "raw", number, is_quoted)
    return None


def tables(path: Path, story: Story, skipped: Skipped) -> Iterator[Rows]:
    """The rows of all tables of a file, block by block; ``story`` gathers everything else."""
    scan = _Scan(story, skipped)
    for first, block in blocks(path):
        yield from scan.block(first, block)
    yield from scan.end()


def _plain_rows(block: bytes, count: int, width: int) -> np.ndarray:
    """Which of the lines are whole rows of a quoted table beyond doubt: they begin with a number
    or an empty cell and leave no quote open."""
    if not width or b'"Kernel Name"' in block:
        return np.zeros(count, bool)
    text = np.frombuffer(block, np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(text == ord("\n"))[:-1] + 1))
    is_quote = text == ord('"')
    is_even = np.ones(count, bool)
    # As many as whole rows have: should that come from two broken ones, their cells show it.
    if np.count_nonzero(is_quote) != 2 * width * count:
        is_even = np.bitwise_xor.reduceat(is_quote.view(np.uint8), starts) == 0
    # The quote, as many digits as _ROW allows, and what must follow them.
    where = np.minimum(starts[:, None] + np.arange(_ROW_DIGITS + 4), len(text) - 1)
    begins = text[where]
    digits = ((begins[:, 1:] - ord("0")) < 10).argmin(axis=1)
    after = begins[np.arange(count)[:, None], np.minimum(digits, _ROW_DIGITS)[:, None] + [1, 2, 3]]
    is_plain: np.ndarray = (
        is_even
        & (begins[:, 0] == ord('"'))
        & (digits <= _ROW_DIGITS)
        & (after == np.frombuffer(b'","', np.uint8)).all(axis=1)
    )
    return is_plain


class _Scan:
    def __init__(self, story: Story, skipped: Skipped) -> None:
        self._story = story
        self._skipped = skipped
        self._rows: Rows | None = None
        # A record whose quotes are open still, and its lines.
        self._open: list[bytes] = []
        self._open_at = 0
        self._session = ""
        self._is_source = False

    def block(self, first: int, block: bytes) -> Iterator[Rows]:
        lines = block.split(b"\n")
        lines.pop()
        is_plain = _plain_rows(block, len(lines), self._width)
        stops = np.flatnonzero(~is_plain)
        at = 0
        while at < len(lines):
            number, line = first + at, lines[at]
            if is_plain[at] and self._width and not self._open:
                assert self._rows is not None
                after = np.searchsorted(stops, at)
                stop = int(stops[after]) if after < len(stops) else len(lines)
                self._rows.numbers += range(number, first + stop)
                self._rows.lines += lines[at:stop]
                self._story.last_line = first + stop - 1
                at = stop
                continue
            at += 1
            if line:
                self._story.last_line = number
            if self._open and not self._goes_on(number, line):
                continue
            if found := _SESSION.match(line):
                yield from self._flushed()
                self._rows, self._session = None, found[1].decode()
            elif self._rows is not None and self._is_row(line):
                if line.count(b'"') % 2:
                    self._open, self._open_at = [line], number
                else:
                    self._rows.numbers.append(number)
                    self._rows.lines.append(line)
            elif (header := header_of(line, number)) is not None:
                yield from self._flushed()
                self._rows = Rows(header)
                self._session, self._is_source = "", False
                self._story.tables += 1
            else:
                self._other(line)
        yield from self._flushed()

    def end(self) -> Iterator[Rows]:
        if self._open:
            self._story.is_cut = True
            self._give_up()
        yield from self._flushed()

    @property
    def _width(self) -> int:
        """The cells of a row of the quoted table that is being read; 0 if there is none."""
        rows = self._rows
        return len(rows.header.columns) if rows and rows.header.is_quoted else 0

    def _is_row(self, line: bytes) -> bool:
        """Whether a line is a row, if perhaps a broken one, and not the application's."""
        assert self._rows is not None
        header = self._rows.header
        if header.is_quoted:
            # NVTX columns push the name out of a header's first cells.
            is_header = line.startswith(_HEADER_STARTS) or b'"Kernel Name"' in line[:200]
            if line[:1] != b'"' or is_header:
                return False
            # Rows begin with a number, a domain, or nothing (units).
            starts = _ROW.match(line) is not None
            return starts or line.count(b'","') >= min(8, len(header.columns) // 2)
        return line[:1] in b'0123456789,"' and line.count(b",") >= len(header.columns) // 2

    def _goes_on(self, number: int, line: bytes) -> bool:
        """Takes a line into the open record; whether the line is to be read by itself."""
        if _NEW.match(line) or len(self._open) >= _LONGEST_RECORD_LINES:
            self._give_up()
            return True
        self._open.append(line)
        if line.count(b'"') % 2:  # together with what was open before: even
            assert self._rows is not None
            self._rows.numbers.append(self._open_at)
            self._rows.lines.append(b"\n".join(self._open))
            self._open = []
        return False

    def _give_up(self) -> None:
        quoted = self._open[0].decode("utf-8", "replace")
        self._skipped.add("a row that ends within a quoted cell", self._open_at, quoted)
        self._open = []

    def _flushed(self) -> Iterator[Rows]:
        if self._rows is not None and self._rows.lines:
            rows, self._rows = self._rows, Rows(self._rows.header)
            yield rows

    def _other(self, line: bytes) -> None:
        if not line or len(line) > 1 << 16:
            self._session = self._session if line else ""
            return
        text = line.decode("utf-8", "replace")
        story = self._story
        if found := _MESSAGE.match(text):
            if found[1] != "PROF" and len(story.messages) < _LONGEST_MESSAGES:
                # Folders tell of users; the last part of a path is enough.
                story.messages.append((found[1], _PATH.sub("", found[2].strip())))
        elif self._session and text.startswith('"'):
            cells = next(csv.reader([text]), [])
            if text.count('"') % 2 and len(cells) >= 2:
                # The file ends in the cell, or the cell goes on: of a command's words all but
                # the last are whole.
                is_command = cells[0].endswith("Command Line")
                cells = [cells[0], cells[1].rpartition(" ")[0]] if is_command else []
            if len(cells) >= 2:
                story.session.setdefault(self._session, {}).setdefault(cells[0], cells[1])
        elif text.startswith('"Kernel Name",'):
            self._is_source = True
        elif self._is_source and text.startswith('"Address","Source"'):
            story.has_source_page = True
        elif re.match(r" +Metric Name +Metric Unit +Metric Value\s*$", text):
            story.has_text_page = True
