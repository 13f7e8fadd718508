"""A log as a row of tests: which line belongs to which, and where one ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.readers import nccl_tests_lines as lines
from pipeline.readers.launcher_prefix import Prefixed, without_prefix
from pipeline.readers.nccl_tests_checks import program
from pipeline.readers.nccl_tests_facts import tell
from pipeline.readers.nccl_tests_row import (
    REDOPS,
    WIDTHS,
    Layout,
    Measured,
    Torn,
    can_go_on,
    guessed,
    header,
    is_header,
    is_piece,
    is_rest,
    is_row,
    looks_like_row,
    quoted,
    read,
    with_units,
)
from pipeline.readers.nccl_tests_run import Test
from pipeline.readers.nccl_tests_tables import Row
from pipeline.readers.text import Skipped, blocks, without_escapes

Who = tuple[int | None, int | None, str | None]

_WRITERS = 65_536
_FAILURES_KEPT = 8
_WIDEST_ROW = 2000
_LONGEST = 4000
_HALVES = frozenset(("out-of-place", "in-place", "(+", "per-iteration)"))
# Hydra puts the rank before each write, and a row is written in pieces.
_MARK = re.compile(r"\[(\d{1,8})\] ?")


@dataclass
class _Torn:
    """The beginning of a row that another line broke."""

    line: int
    tokens: list[str]
    text: str


@dataclass
class _Writer:
    """A process, as far as prefixes tell them apart."""

    test: Test | None = None
    torn: _Torn | None = None


@dataclass
class Log:
    """Reads a log; ``tests`` are all tests met so far, ``skipped`` the rows left out."""

    path: Path
    tests: list[Test] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)
    # Columns that are not stored, and the line of the header that has them first.
    unknown_columns: dict[str, int] = field(default_factory=dict)
    _writers: dict[Who, _Writer] = field(default_factory=dict)
    _latest: Test | None = None
    # The program of a command line met before the test that it started.
    _command: str | None = None
    _last_row: tuple[int, Test, str] | None = None
    # The last line of a preamble.
    _last_said: tuple[int, Test] | None = None

    @property
    def writer_count(self) -> int:
        """Processes that printed tests, as far as prefixes tell them apart."""
        return sum(writer.test is not None for writer in self._writers.values())

    def rows(self) -> Iterator[Row]:
        """All rows of ``collective_benchmark``; afterwards ``tests`` are closed."""
        last = 0
        for first, block in blocks(self.path):
            may_matter = lines.sieve(block)
            for number, line in enumerate(block.split(b"\n"), first):
                if may_matter(line):
                    self._line(number, line.decode("utf-8", "replace"))
            last = first + block.count(b"\n") - 1
            for test in self.tests:
                yield from test.taken()
        if not _ends_line(self.path):
            self._drop_cut_row(last)
            if self._last_said and self._last_said[0] == last:
                self._last_said[1].forget_last_said()
        for writer in self._writers.values():
            self._give_up(writer)
        for test in self.tests:
            test.close()
            yield from test.taken()

    def _drop_cut_row(self, last: int) -> None:
        """The last line of a file without an end of line may lack digits of its last number."""
        if self._last_row is None or self._last_row[0] != last:
            return
        number, test, text = self._last_row
        # Counts are padded to the left: a 0 that begins a cell is whole, as is a time of day.
        if text.endswith((" 0", "N/A")) or re.search(r" \d\d:\d\d:\d\d$|e[+-]\d\d$", text):
            return
        if test.forget(number):
            test.torn_count += 1
            self.skipped.add("the file ends within this row, perhaps within a number", number, text)

    def _line(self, number: int, raw: str) -> None:
        text = without_escapes(raw).rstrip()
        bare = without_prefix(text)
        writer = self._writer(bare.who)
        glued = lines.before_message(bare.line)
        if glued is not None:
            if glued.strip():
                self._table_line(number, glued, bare, writer, is_broken=True)
            return
        if self._table_line(number, bare.line, bare, writer):
            return
        if (error := lines.last_error(bare.line)) and writer.test:
            writer.test.last_errors.append(error)
            return
        said = bare.line.strip().lstrip("#>|* \t").rstrip("` ")
        if said and len(said) <= _LONGEST and not self._said(number, said, writer):
            self._failed(number, text)

    def _writer(self, who: Who) -> _Writer:
        if who not in self._writers and len(self._writers) >= _WRITERS:
            who = (None, None, None)
        return self._writers.setdefault(who, _Writer())

    # -- tables ----------------------------------------------------------------------------

    def _table_line(
        self, number: int, text: str, bare: Prefixed, writer: _Writer, is_broken: bool = False
    ) -> bool:
        """Whether the line is one of a table: a row, a piece of a row, or what stood for rows."""
        if len(text) > _WIDEST_ROW:
            return False
        if "[" in text and _MARK.search(text):
            marks = {int(mark) for mark in _MARK.findall(text)}
            if len(marks) == 1 and bare.task in (None, *marks):
                text = _MARK.sub("", text)
        tokens = text.lstrip("#> \t").split()
        test = writer.test
        if tokens in (["..."], ["[...]"], ["…"]) and test:
            if test.layout and not test.is_over:
                test.has_elided_rows = True
            elif not test.layout:
                test.has_whole_list = False
            return True
        if is_row(tokens):
            self._give_up(writer)
            return self._row(number, tokens, text, writer, is_broken)
        if writer.torn and test and test.layout and is_rest(tokens):
            torn, writer.torn = writer.torn, None
            joined = [*torn.tokens, *tokens]
            if len(joined) == test.layout.tokens:
                self._read(torn.line, joined, f"{torn.text} {text}", test, test.layout)
            elif can_go_on(joined, test.layout):
                writer.torn = _Torn(torn.line, joined, f"{torn.text} {text}")
            else:
                self._skip(test, "a row that another line broke", torn.line, torn.text)
            return True
        if test and test.layout and not test.is_over:
            if looks_like_row(tokens, test.layout):
                self._skip(test, "a row with other cells", number, text)
                return True
            if is_piece(tokens, text):
                self._skip(test, "a row that is not whole", number, text)
                return True
        return False

    def _row(
        self, number: int, tokens: list[str], text: str, writer: _Writer, is_broken: bool
    ) -> bool:
        test = writer.test
        if test and test.has_unknown_columns:
            self._skip(test, "a row under a header with other columns", number, text)
            return True
        layout = test.layout if test else None
        if layout is None or (test and test.is_over):
            layout = guessed(tokens) if not is_broken else None
            if layout is None:
                if tokens[2] in WIDTHS and 11 <= len(tokens) <= 13 and _is_tail(tokens):
                    self.skipped.add("a row without its header", number, quoted(text))
                return False
            if test is None or test.is_over:
                test = self._begin(number, writer)
            test.layout = layout
        assert test is not None
        if is_broken and len(tokens) == layout.tokens:
            pass  # the message came right after the row
        elif len(tokens) < layout.tokens - 1 and can_go_on(tokens, layout):
            try:
                found = read(tokens, layout, number, text)
            except Torn:
                writer.torn = _Torn(number, tokens, text)
                return True
            self._keep(number, found, test, text)
            return True
        self._read(number, tokens, text, test, layout)
        return True

    def _read(self, number: int, tokens: list[str], text: str, test: Test, layout: Layout) -> None:
        try:
            found = read(tokens, layout, number, text)
        except Torn as torn:
            # In other formats' lines two counts and a word may stand first as well.
            is_own = tokens[2] in WIDTHS or len(tokens) >= layout.tokens - 2
            if is_own or is_piece(tokens, text):
                self._skip(test, str(torn), number, text)
            return
        self._keep(number, found, test, text)

    def _keep(self, number: int, found: list[Measured], test: Test, text: str) -> None:
        self._last_row = (number, test, text)
        test.add(found)

    def _skip(self, test: Test, reason: str, number: int, text: str) -> None:
        test.torn_count += 1
        self.skipped.add(reason, number, quoted(text))

    def _give_up(self, writer: _Writer) -> None:
        """A torn row whose rest did not come."""
        torn, writer.torn = writer.torn, None
        if torn and writer.test:
            self._skip(writer.test, "a row that is not whole", torn.line, torn.text)

    # -- everything else -------------------------------------------------------------------

    def _begin(self, number: int, writer: _Writer) -> Test:
        self._give_up(writer)
        if writer.test:
            writer.test.settle()  # no row of it comes any more
        test = Test(len(self.tests), number, command_program=self._command)
        writer.test, self._command = test, None
        self.tests.append(test)
        self._latest = test
        return test

    def _beginning(self, number: int, writer: _Writer, is_same: Callable[[Test], bool]) -> Test:
        """The test that a line of a preamble belongs to: one whose table has not begun.

        The same line again is that of a second process which thinks itself alone.
        """
        test = writer.test
        if test is None or test.layout or test.is_over or test.failures or not is_same(test):
            return self._begin(number, writer)
        return test

    def _said(self, number: int, text: str, writer: _Writer) -> bool:
        if self._preamble(number, text, writer) or self._header(number, text, writer):
            return True
        test = writer.test
        return test is not None and tell(text, test)

    def _preamble(self, number: int, text: str, writer: _Writer) -> bool:
        if found := lines.version(text):
            test = self._beginning(number, writer, lambda test: test.tool_version == found[1])
            test.tool, test.tool_version = found[:2]
            test.nccl_header_version = found[2] or test.nccl_header_version
            test.nccl_version = found[3] or test.nccl_version
        elif collective := lines.collective(text):
            is_start, name = collective
            if is_start:
                test = self._beginning(
                    number,
                    writer,
                    lambda test: test.program == name or not (test.program or test.options),
                )
                test.program = name
            elif writer.test:
                writer.test.is_concluded = True
        elif options := lines.options(text):
            test = self._beginning(
                number,
                writer,
                lambda test: not test.options or test.options.text == options.text,
            )
            test.preamble_count += test.options is not None
            test.options = options
            self._last_said = number, test
        elif device := lines.device(text):
            self._device(number, device, writer)
        elif (called := program(text)) and not lines.failure(text):
            self._command = called  # a command line: it names the test that follows
        else:
            return False
        return True

    def _device(self, number: int, device: lines.Device, writer: _Writer) -> None:
        test = writer.test
        is_alone = test is not None and test.preamble_count == 1 and not test.is_interleaved
        if test is None or (is_alone and (test.has_rows or test.layout)):
            test = self._begin(number, writer)
        test.add_device(device)
        self._last_said = number, test

    def _header(self, number: int, text: str, writer: _Writer) -> bool:
        words = text.split()
        if set(words) <= _HALVES and words[0] in ("out-of-place", "in-place"):
            self._titled(number, writer).above = text
        elif words[0] == "(B)" and writer.test and writer.test.layout:
            writer.test.layout = with_units(writer.test.layout, text)
        elif is_header(words):
            test = self._titled(number, writer)
            try:
                layout = header(text, test.above)
            except Torn as torn:
                self.skipped.add(str(torn), number, text)
                test.has_unknown_columns = True
                return True
            if layout is None:
                return False
            test.layout = layout
            test.has_unknown_columns = False
            for name in layout.unknown:
                self.unknown_columns.setdefault(name, number)
        else:
            return False
        return True

    def _titled(self, number: int, writer: _Writer) -> Test:
        """The test whose table begins: another one if the last has rows already."""
        test = writer.test
        if test is None or test.is_over or (test.has_rows and not test.is_interleaved):
            return self._begin(number, writer)
        return test

    def _failed(self, number: int, text: str) -> None:
        failure = lines.failure(text)
        if failure is None:
            return
        test = self._latest
        if test is None or (test.is_over and "failure" in failure):
            test = self._begin(number, self._writer((None, None, None)))
        test.failure_count += 1
        if len(test.failures) < _FAILURES_KEPT:
            test.failures.append(failure)


def _is_tail(tokens: list[str]) -> bool:
    """Whether the last eight cells of a row are its two halves, though one may be broken."""
    return is_rest(tokens[-8:]) or (len(tokens) == 13 and tokens[3] in REDOPS)


def _ends_line(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, 2) - 2))
        return any(end in stream.read(2) for end in (b"\n", b"\r"))
