"""nvbandwidth: matrices of bandwidth or latency between GPUs and hosts, as text or as JSON.

A test case prints its name, a description that says what rows and columns are, and a matrix. A
pair without a value is N/A; before version 0.5 it was 0.00, the diagonal always.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers.nvbandwidth_json import BEGIN, json_rows
from pipeline.readers.nvbandwidth_matrix import DESCRIPTION, Cells, Description, Row, described
from pipeline.readers.nvbandwidth_tally import STATUSES, Tally
from pipeline.readers.printed_numbers import is_number, whole
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Part,
    Recording,
    row_batches,
)
from pipeline.readers.text import ends_whole, lines, without_escapes

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "nvbandwidth"
SUFFIXES: tuple[str, ...] = ()

_VERSION = re.compile(r"(?P<prefix>.*?)\bnvbandwidth Version: (?P<version>v?[\w.\-]{1,40})\s*")
# Not in quotes, as in a program's source.
_VERSION_IN_TEXT = re.compile(r"""^[^\n"']{0,200}\bnvbandwidth Version: v?\d""", re.MULTILINE)
_RUNNING = re.compile(r"(?P<prefix>.*?)\b[Rr]unning (?P<test>[a-z][a-z0-9]*_[a-z0-9_]{2,80})\.?\s*")
_STATUS = re.compile(r"(?P<status>Waived|Error|Not Found)(?:\.|:.*)?", re.IGNORECASE)
_TOTAL = re.compile(r"(?:SUM|MIN|MAX|AVG|COEFFICIENT_OF_VARIATION) ([a-z]\w{2,100}) \S{1,40}")
_PROCESS = re.compile(r"Process (?P<number>\d{1,6}) \((?P<host>[\w.\-]{1,255})\): device \d+: .*")
_DRIVER = re.compile(r"Driver Version: (?P<version>\d{1,5}(?:\.\d{1,5}){1,3})")
_LONGEST_JSON = 64 << 20
_LONGEST = 65_536  # characters of a line
_LESS = "nothing was measured in it"


def recognise(head: Head) -> bool:
    text = head.text
    is_named = "nvbandwidth Version: " in text and _VERSION_IN_TEXT.search(text)
    has_matrix = ("(column)" in text or "(row)" in text) and DESCRIPTION.search(text)
    return bool(is_named or has_matrix or ('"nvbandwidth"' in text and BEGIN.search(text)))


def read(path: Path, name: str, pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """Rows of ``link_benchmark`` and the driver's version; see :mod:`pipeline.readers`."""
    recording = Recording(Facts(FORMAT, host=hints.host), [])
    settings: dict[str, str] = {}

    def batches() -> Iterator[pa.RecordBatch]:
        yield from row_batches("link_benchmark", _rows(path, recording, hints, settings))

    def setting_batches() -> Iterator[pa.RecordBatch]:
        rows = [{"name": name, "value": value} for name, value in settings.items()]
        yield from row_batches("setting", rows)

    recording.parts.append(Part("link_benchmark", batches))
    recording.closing_parts.append(Part("setting", setting_batches))
    return recording


def _rows(
    path: Path, recording: Recording, hints: Hints, settings: dict[str, str]
) -> Iterator[Row]:
    tally = Tally()
    first_line, json = _json_text(path)
    found = json_rows(json, first_line, tally) if first_line else _Matrices(path, tally).rows()
    count = 0
    for row in found:
        count += 1
        yield {"tool": FORMAT, "host": hints.host, **row}
    settings.update(tally.settings)
    for issue in tally.issues():
        recording.report(issue)
    if not count:
        recording.refusal = tally.skipped.refusal(
            "no value of it can be read" if tally.skipped.count else f"no value in it: {_LESS}",
            "run nvbandwidth again, or copy its output again",
        )
    facts = recording.facts
    facts.tool_version = tally.version
    facts.status, facts.status_reason = tally.status()


def _json_text(path: Path) -> tuple[int, str]:
    """The file's text from nvbandwidth's JSON on, and the line it begins at; 0 without any."""
    held: list[str] = []
    first_line, size = 0, 0
    for number, line in lines(path):
        held.append(line)
        if first_line:
            size += len(line)
            if size > _LONGEST_JSON:
                break
        elif BEGIN.search("\n".join(held)):
            first_line = number - len(held) + 1
        else:
            held = held[-2:]  # the brace and the name may stand on lines of their own
    return first_line, "\n".join(held) if first_line else ""


def _columns(words: list[str]) -> list[int] | None:
    """The numbers of a matrix's columns, which rise."""
    numbers = [number for number in map(whole, words) if number is not None]
    is_line = len(numbers) == len(words) and all(a < b for a, b in pairwise(numbers))
    return numbers if is_line else None


def _is_numbered(words: list[str], columns: list[int] | None) -> bool:
    """Whether a line begins with its row's number and goes on as a row, if perhaps a broken one."""
    cells = words[1:]
    numeric = sum(word == "N/A" or is_number(word) for word in cells)
    is_wide = columns is not None and len(cells) == len(columns)
    return words[0].isdecimal() and (is_wide or 2 * numeric >= len(cells))


def _looks_like_row(words: list[str], columns: list[int]) -> bool:
    numeric = sum(word == "N/A" or is_number(word) for word in words)
    return len(words) > 1 and 2 * numeric >= len(words) >= len(columns)


@dataclass
class _Stream:
    """What one process prints: the test that is open, and its matrix as far as it was read."""

    test: str | None = None
    test_line: int = 0
    has_matrix: bool = True
    description: Description | None = None
    description_line: int = 0
    columns: list[int] | None = None
    is_over: bool = True  # no row of the matrix follows any more
    lacks_end: bool = False  # the line of its sum has not come yet
    table_number: int = -1
    hosts: dict[int, str] = field(default_factory=dict)


class _Matrices:
    """Reads a file's matrices."""

    def __init__(self, path: Path, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._streams: dict[str, _Stream] = {}

    def rows(self) -> Iterator[Row]:
        held: tuple[int, str] | None = None
        for number, line in lines(self._path):
            if held:
                yield from self._line(*held)
            held = number, line
        if held:
            yield from self._line(*held, is_cut=not ends_whole(self._path))
        for stream in self._streams.values():
            yield from self._end_of_test(stream)

    def _line(self, number: int, line: str, is_cut: bool = False) -> Iterator[Row]:
        line = without_escapes(line[:_LONGEST]).rstrip()
        if is_cut and "unning " in line and not line.endswith("."):
            return  # half of a name
        if "unning " in line and (found := _RUNNING.fullmatch(line)):
            stream = self._stream(found["prefix"])
            yield from self._end_of_test(stream)
            stream.test, stream.test_line, stream.has_matrix = found["test"], number, False
        elif "nvbandwidth" in line and (found := _VERSION.fullmatch(line)):
            self._tally.version = self._tally.version or found["version"]
            self._stream(found["prefix"]).hosts.clear()
        elif ("(column)" in line or "(row)" in line) and DESCRIPTION.search(line):
            self._begin_matrix(number, line)
        else:
            known = [prefix for prefix in self._streams if line.startswith(prefix)]
            if known:
                prefix = max(known, key=len)
                text = line[len(prefix) :].strip()
                yield from self._content(number, text, self._streams[prefix], is_cut)

    def _stream(self, prefix: str) -> _Stream:
        return self._streams.setdefault(prefix.rstrip(), _Stream())

    def _begin_matrix(self, number: int, line: str) -> None:
        known = [prefix for prefix in self._streams if line.startswith(prefix)]
        stream = self._stream(max(known, key=len, default=""))
        self._end_of_matrix(stream)
        stream.description, stream.description_line = described(line), number
        stream.has_matrix, stream.columns, stream.is_over = True, None, False
        stream.lacks_end = True
        stream.table_number = self._tally.next_matrix()
        if stream.description is None:
            stream.is_over = True
            self._tally.skipped.add("a matrix whose description is not known", number, line)

    def _end_of_matrix(self, stream: _Stream) -> None:
        if not stream.is_over and stream.columns is None:
            self._tally.skipped.add(
                "a matrix without its line of columns", stream.description_line, ""
            )
        stream.is_over = True

    def _content(self, number: int, line: str, stream: _Stream, is_cut: bool) -> Iterator[Row]:
        words = line.split()
        if not stream.is_over and words and _is_numbered(words, stream.columns):
            if stream.columns is not None:
                yield from self._matrix_row(number, line, words, stream, is_cut)
            else:
                stream.columns = _columns(words)
        elif not words and stream.columns is not None:
            stream.is_over = True
        elif not stream.is_over and stream.columns and _looks_like_row(words, stream.columns):
            self._tally.skipped.add("a row without its number", number, line)
        elif _TOTAL.fullmatch(line):
            self._tally.ended_count += stream.lacks_end
            stream.lacks_end = False
            self._end_of_matrix(stream)
        elif found := _PROCESS.fullmatch(line):
            stream.hosts[int(found["number"])] = found["host"]
        elif found := _DRIVER.fullmatch(line):
            self._tally.settings.setdefault("NVIDIA_DRIVER_VERSION", found["version"])
        elif found := _STATUS.fullmatch(line):
            yield from self._status(number, found["status"].lower(), stream)

    def _matrix_row(
        self, number: int, line: str, words: list[str], stream: _Stream, is_cut: bool
    ) -> Iterator[Row]:
        assert stream.description is not None and stream.columns is not None
        row_number = whole(words[0])
        if row_number is None or len(words) != 1 + len(stream.columns):
            self._tally.skipped.add("a row with other columns than its matrix", number, line)
            return
        cells = Cells(stream.description, stream.test, self._hosts(stream))
        pairs = list(zip(stream.columns, words[1:], strict=True))
        if is_cut:
            self._tally.skipped.add("the file ends within a row", number, line)
            pairs.pop()
        for column, word in pairs:
            yield from self._tally.cell(
                cells, row_number, column, word, number, stream.table_number
            )

    @staticmethod
    def _hosts(stream: _Stream) -> dict[int, str]:
        """Hosts of a matrix's numbers: those of processes, in tests over several nodes only."""
        return stream.hosts if (stream.test or "").startswith("multinode") else {}

    def _status(self, line: int, status: str, stream: _Stream) -> Iterator[Row]:
        """A test that was not measured. Waived ones are printed without their names."""
        is_open = not stream.has_matrix
        if not is_open and status != "waived":
            return  # another program's word
        yield self._tally.unmeasured(stream.test if is_open else None, STATUSES[status], line)
        stream.has_matrix = True

    def _end_of_test(self, stream: _Stream) -> Iterator[Row]:
        self._end_of_matrix(stream)
        if not stream.has_matrix:
            self._tally.missing_count += 1
            yield self._tally.unmeasured(stream.test, "missing", stream.test_line)
            stream.has_matrix = True
