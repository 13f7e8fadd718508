"""Tables of perftest (ib_write_bw, ib_read_lat and their like), and its JSON.

A table begins with a line of column names and ends with a line of dashes; what its test was
stands in the banner before it. Both ends of a loopback test print into one file: banners, headers
and rows of the two lie between each other. A launcher may have put something before each line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers.perftest_banner import Banners
from pipeline.readers.perftest_json import BEGIN, json_rows
from pipeline.readers.perftest_table import HEADER, Columns, Row, columns_of
from pipeline.readers.printed_numbers import is_number
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Issue,
    Part,
    Recording,
    Refused,
    Status,
    row_batches,
)
from pipeline.readers.text import Skipped, ends_whole, lines, without_escapes

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "perftest"
SUFFIXES: tuple[str, ...] = ()

_RULE = re.compile(r"(?<!-)-{40,}\s*$")
_OTHER_HEADER = re.compile(r"#\s{0,4}[A-Za-z]\w*(?:\s+\S+){2}")
_SIDE = re.compile(r"\b(?P<side>Local|Remote) results:\s*$")
# A time before each line differs from line to line; what else a launcher puts there does not.
_TIME = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"(?: std(?:out|err) [FP])? ?"
)
_BRACE = re.compile(r'\s*\{\s*(?:"test_info".*)?')
_LONGEST_JSON = 400  # lines
_LONGEST_NOISE = 1000  # lines
_MOST_COUNTS = 3  # whole numbers that a row begins with: size, service level, iterations
_NOISE_IN_TABLE = 2  # lines: the frequencies of the host's cores
_NUMBERED = re.compile(r"(?=\D{0,3}\d)[\w.?*+\-]{1,24}")
_LONGEST = 2048  # characters of a line
_NO_ROW = "a table of results was begun, but has no row"
_NO_TABLE = "tests were begun, but none printed a table of results"


def recognise(head: Head) -> bool:
    text = head.text
    has_table = "#bytes" in text and HEADER.search(text)
    has_json = '"test_info"' in text and BEGIN.search(text)
    return bool(has_table or has_json or Banners.is_in(text))


def read(path: Path, name: str, pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """Rows of ``link_benchmark``; see :mod:`pipeline.readers` for the arguments."""
    recording = Recording(Facts(FORMAT, host=hints.host), [])

    def batches() -> Iterator[pa.RecordBatch]:
        yield from row_batches("link_benchmark", _rows(path, recording, hints))

    recording.parts.append(Part("link_benchmark", batches))
    return recording


def _rows(path: Path, recording: Recording, hints: Hints) -> Iterator[Row]:
    """Every row of the file; the recording's facts and issues hold when they are exhausted."""
    tables = _Tables(path)
    count = 0
    for row in tables.rows():
        count += 1
        yield {**row, "tool": FORMAT, "status": "measured", "host": hints.host}
    for issue in tables.issues():
        recording.report(issue)
    if count == 0:
        way_out = "run the test again, or copy its output again"
        recording.refusal = (
            tables.skipped.refusal("no row of its tables can be read", way_out)
            if tables.skipped.count
            else Refused(_NO_ROW if tables.table_count else _NO_TABLE, way_out)
        )
    facts = recording.facts
    facts.status, facts.status_reason = tables.status()


def _looks_number(word: str) -> bool:
    return _NUMBERED.fullmatch(word) is not None


@dataclass
class _Table:
    columns: Columns | None
    number: int
    side: str | None
    row_count: int = 0


@dataclass
class _Stream:
    """What one process prints, told apart from others' by what a launcher puts before it."""

    banners: Banners = field(default_factory=Banners)
    open: list[_Table] = field(default_factory=list)
    side: str | None = None
    other_count: int = 0  # lines since the last row
    closed: Columns | None = None  # of the table that ended last
    is_mixed: bool = False  # another tool's table has begun in it: rows of numbers may be its

    def other_line(self, words: list[str]) -> None:
        """A line that is no row. After many the table is over, though no line said so."""
        self.other_count += bool(words)
        if self.other_count > _LONGEST_NOISE:
            self.open.clear()


class _Tables:
    """Reads a file's tables line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_whole = ends_whole(path)
        self._streams: dict[str, _Stream] = {}
        self.table_count = 0
        self._closed_count = 0
        self.skipped = Skipped()
        self._doubtful = Skipped()
        self._json: list[tuple[int, str]] = []
        self._is_cycles = False

    def rows(self) -> Iterator[Row]:
        """Rows of the tables, with what the banner says of their test."""
        held: tuple[int, str] | None = None  # the last line may be cut: it is known by its end
        for number, line in lines(self._path):
            if held:
                yield from self._line(*held)
            held = number, line
        if held:
            yield from self._line(*held, is_cut=not self._is_whole)
        yield from self._end_of_json()

    def _line(self, number: int, line: str, is_cut: bool = False) -> Iterator[Row]:
        line = without_escapes(line[:_LONGEST])
        if self._json:
            yield from self._json_goes_on(number, line)
        elif _BRACE.fullmatch(line):
            self._json = [(number, line)]
            yield from self._end_of_json_if_closed()
        else:
            yield from self._plain(number, line, is_cut)

    def _plain(self, number: int, line: str, is_cut: bool = False) -> Iterator[Row]:
        if found := _TIME.match(line):
            line = line[found.end() :]
        if "#bytes" in line and (found := HEADER.search(line)):
            self._header(number, line, line[: found.start()].rstrip())
        elif "-" * 40 in line and (rule := _RULE.search(line)):
            self._rule(line[: rule.start()].rstrip())
        elif line.startswith("#, cycles"):
            self._is_cycles = True
        elif _OTHER_HEADER.match(line):
            for stream in self._streams.values():
                stream.is_mixed = True
        elif not self._begin(line):
            prefix = self._prefix(line)
            if prefix is not None:
                yield from self._content(number, line[len(prefix) :], prefix, is_cut)

    def _json_goes_on(self, number: int, line: str) -> Iterator[Row]:
        """A line of what may be perftest's JSON, up to the brace that ends it."""
        is_first = len(self._json) == 1 and BEGIN.search(self._json[0][1]) is None
        self._json.append((number, line))
        if is_first and not BEGIN.search("{" + line):
            others, self._json = self._json, []
            for one in others:  # it was not
                yield from self._plain(*one)
        elif len(self._json) > _LONGEST_JSON:
            yield from self._end_of_json()
        else:
            yield from self._end_of_json_if_closed()

    def _end_of_json_if_closed(self) -> Iterator[Row]:
        if sum(line.count("{") - line.count("}") for _, line in self._json) <= 0:
            yield from self._end_of_json()

    def _end_of_json(self) -> Iterator[Row]:
        taken, self._json = self._json, []
        if not taken:
            return
        text = "\n".join(line for _, line in taken)
        for row in json_rows(text, taken[0][0], self.table_count, self.skipped):
            self.table_count += 1
            self._closed_count += 1
            yield row

    def _begin(self, line: str) -> bool:
        """Whether the line is a test's title, or another that comes before a table."""
        if title := Banners.title_in(line):
            stream = self._stream(line[: title.start()].rstrip())
            stream.open.clear()
            stream.side = None
            stream.banners.begin(title)
            return True
        if "results:" in line and (found := _SIDE.search(line)):
            self._stream(line[: found.start()].rstrip()).side = found["side"].lower()
            return True
        if found := Banners.cuda_in(line):
            self._stream(line[: found.start()].rstrip()).banners.picks(found["device"])
            return True
        return False

    def _stream(self, prefix: str) -> _Stream:
        return self._streams.setdefault(prefix, _Stream())

    def _prefix(self, line: str) -> str | None:
        """What stands before a line of one of the streams; None when it is of none."""
        if "" in self._streams and len(self._streams) == 1:
            return ""
        known = [prefix for prefix in self._streams if line.startswith(prefix)]
        return max(known, key=len, default=None)

    def _header(self, number: int, line: str, prefix: str) -> None:
        stream = self._stream(prefix)
        columns = columns_of(line[len(prefix) :])
        if columns is None:
            self.skipped.add("a table whose columns are not known", number, line)
        stream.other_count, stream.is_mixed = 0, False
        stream.open.append(_Table(columns, self.table_count, stream.side))
        stream.side = None
        stream.banners.table_begins()
        self.table_count += 1

    def _rule(self, prefix: str) -> None:
        stream = self._streams.get(prefix)
        if stream and stream.open and stream.open[0].row_count:
            stream.closed = stream.open.pop(0).columns
            self._closed_count += 1

    def _content(self, number: int, line: str, prefix: str, is_cut: bool) -> Iterator[Row]:
        stream = self._streams[prefix]
        words = line.split()
        if not stream.open:
            self._after_end(number, line, words, stream.closed)
            words = []
        if not self._is_row(stream, words):
            stream.banners.line(line)
            stream.other_line(words)
            return
        stream.other_count = 0
        fitting = [t for t in stream.open if t.columns and len(t.columns) == len(words)]
        table = fitting[0] if fitting else stream.open[0]
        table.row_count += 1
        if not fitting or table.columns is None:
            self.skipped.add("a row with other columns than its header", number, line)
            return
        row = table.columns.row(words)
        if is_cut and table.columns.may_be_cut(words):
            self.skipped.add("the file ends within a row", number, line)
        elif row is None:
            self.skipped.add("a row with a cell that is no number", number, line)
        elif self._is_cycles and table.columns.is_latency:
            self.skipped.add("latencies are in cycles of a clock that is not told", number, line)
        elif (is_doubtful := table.columns.contradicts_itself(words)) and stream.is_mixed:
            self.skipped.add("the numbers of a row contradict each other", number, line)
        else:
            if is_doubtful:
                self._doubtful.add("the numbers of a row contradict each other", number, line)
            told = {"side": table.side, "table_number": table.number, "line": number}
            yield {**stream.banners.told(), **row, **told}

    def _after_end(self, number: int, line: str, words: list[str], closed: Columns | None) -> None:
        """Tells of a row below the line that ended its table, as another process may draw one."""
        is_row = closed is not None and len(words) == len(closed) and all(map(is_number, words))
        is_row = is_row and any("." in word for word in words)
        if closed and is_row and closed.row(words) and not closed.contradicts_itself(words):
            self.skipped.add("a row below the end of its table", number, line)

    @staticmethod
    def _is_row(stream: _Stream, words: list[str]) -> bool:
        """Whether a line is a row of one of the open tables, if perhaps a broken one.

        Rows of other tools begin with a name or have names in them; what is left of a row that
        was cut has none.
        """
        if not words or not words[0][:1].isdigit():
            return False
        widths = {len(table.columns) for table in stream.open if table.columns}
        if len(words) > _MOST_COUNTS and not any("." in word for word in words):
            return False  # perftest writes every speed and time with decimals
        if all(map(is_number, words)):
            # Numbers under many other lines may be of a table that we don't know.
            is_among = stream.other_count <= _NOISE_IN_TABLE and not stream.is_mixed
            return len(words) in widths or is_among
        looks = sum(map(_looks_number, words))
        return len(words) in widths and 2 * looks >= len(words)

    def issues(self) -> list[Issue]:
        found = self.skipped.issues("copy the output again") + self._doubtful.issues()
        unfinished = self._unfinished()
        if unfinished:
            problem = "a test that printed no results"
            found.append(Issue("warning", "", problem, "run it again", unfinished))
        return found

    def _unfinished(self) -> int:
        """Tests that were begun and printed no row."""
        return sum(stream.banners.unfinished_count for stream in self._streams.values())

    def status(self) -> tuple[Status, str]:
        if self._unfinished():
            return "incomplete", "a test printed no results"
        if self._closed_count == self.table_count:
            return "complete", "every table has its end"
        return "unknown", "a table has no line at its end"
