"""The table of one ``nvidia-smi dmon``: its header, which lines are its rows, when they were."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.readers import telemetry
from pipeline.readers.foreign_lines import Strays
from pipeline.readers.record import Facts
from pipeline.readers.telemetry import Metric

# `-o D` and `-o T` put date and time first; `--format csv` puts commas between.
HEADER = re.compile(
    r"^[ \t]*#[ \t]*(?:date[ \t,]+)?(?:time[ \t,]+)?gpu(?:[ \t,]+[a-z0-9_]+)+[ \t,]*$",
    re.IGNORECASE | re.MULTILINE,
)
UNITS = re.compile(r"^\s*#\s*(?:YYYYMMDD[\s,]+)?(?:HH:MM:SS[\s,]+)?Idx\b", re.IGNORECASE)
NO_METRICS = ("date", "time", "gpu")
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d)", re.ASCII)
_DATE = re.compile(r"\d{8}", re.ASCII)
_INDEX = re.compile(r"\d{1,4}", re.ASCII)
_FIRST = {"gpu": _INDEX, "time": _CLOCK, "date": _DATE}
_DAY_NS = 86_400 * 10**9
_MOST_GPUS = 1024
# As nanoseconds, an int64 holds them.
_MOST_DAYS = 100_000


def cells_of(line: str) -> list[str]:
    return line.replace(",", " ").split()


def columns_of(header: str) -> list[str]:
    """The columns after a header's mark, in small letters; none when it is not dmon's."""
    columns = [cell.lower() for cell in cells_of(header.replace("#", " ", 1))]
    # pmon's table looks alike, but is of processes.
    if "pid" in columns or not any(telemetry.by_smi_dmon(name).is_known for name in columns):
        return []
    return columns


def _is_value(cell: str) -> bool:
    return cell == "-" or bool(_NUMBER.fullmatch(cell))


def _ends(line: str) -> list[int]:
    return [found.end() for found in re.finditer(r"\S+", line)]


@dataclass
class Clock:
    """Times of rows of one table since the first row of the file that has one."""

    zero_ns: int
    last_ns: int = 0
    days: int = 0

    def take(self, at_ns: int, has_date: bool) -> int:
        """The time of a row; without a date, midnights are counted."""
        at_ns += self.days * _DAY_NS - self.zero_ns
        if not has_date and at_ns < self.last_ns - _DAY_NS // 2:
            self.days += 1
            at_ns += _DAY_NS
        self.last_ns = at_ns
        return at_ns


@dataclass
class Table:
    """One dmon's table in a log: a launcher may mix those of several tasks line by line.

    ``is_over``: a block of another format began below it, so that only lines exactly as its rows
    are taken for rows. ``is_paused``: a blank line, which dmon does not print, stands above.
    """

    host: str | None
    columns: list[str] = field(default_factory=list)
    metrics: list[Metric | None] = field(default_factory=list)
    strays: Strays = field(default_factory=Strays)
    clock: Clock | None = None
    tick: int = 0
    is_over: bool = False
    is_paused: bool = False
    _last_gpu: int = -1
    # Where the values of the last row end: those of dmon are aligned to the right.
    _ends: list[int] = field(default_factory=list)
    _row_end: int = 0

    def begin(self, columns: list[str], header: str) -> None:
        """A header: of a new table, or repeated in its midst."""
        self.columns = columns
        self.metrics = [
            None if column in NO_METRICS else telemetry.by_smi_dmon(column) for column in columns
        ]
        self.is_over = self.is_paused = False
        self._row_end = len(header.rstrip())

    def row_of(self, line: str) -> list[str] | None:
        """The cells of a line, one per column; None if the line is not a whole row."""
        cells = cells_of(line)
        if len(cells) != len(self.columns):
            return None
        at = self.columns.index("gpu")
        if not _INDEX.fullmatch(cells[at]) or int(cells[at]) >= _MOST_GPUS:
            return None
        if not all(map(_is_value, cells[at + 1 :])) or self._moment(cells) == (None, True):
            return None
        return cells if not self.is_over or self._is_aligned(line) else None

    def gpu_of(self, row: list[str]) -> int:
        """The index of the GPU that a row is of."""
        return int(row[self.columns.index("gpu")])

    def _is_aligned(self, line: str) -> bool:
        return "," in line or not self._ends or _ends(line) == self._ends

    def looks_like_row(self, line: str) -> bool:
        """Whether a line that is none may be a damaged row of this table."""
        cells, width = cells_of(line), len(self.columns)
        if self.is_over:
            # Of another format's lines some have as many numbers: damage leaves columns in place.
            in_place = len(set(_ends(line)) & set(self._ends))
            return (
                bool(self._ends)
                and len(cells) > 1
                and 4 * in_place >= 3 * max(len(cells), len(self._ends))
            )
        numbers = sum(map(_is_value, cells))
        if self.is_paused:
            return len(cells) == width and 2 * numbers >= width
        if _FIRST[self.columns[0]].fullmatch(cells[0]):
            return len(cells) == width or 2 * numbers >= len(cells) > 1
        return 2 * len(cells) >= width and 2 * numbers > len(cells)

    def why_no_row(self, line: str) -> str:
        """What is wrong with a damaged row."""
        count = len(cells_of(line))
        if count != len(self.columns):
            return f"a row of {count} cells below {len(self.columns)} columns"
        return "a row that does not read as numbers"

    def is_as_long_as_others(self, line: str) -> bool:
        """Whether a last line without its end is whole: its last number ends where it should."""
        return len(line.rstrip()) == self._row_end

    def take(self, row: list[str], line: str, facts: Facts, zero: list[int]) -> None:
        """Counts a row's round and moves the clock; ``zero`` is the file's first time of day."""
        self._ends, self._row_end = _ends(line), len(line.rstrip())
        index = self.gpu_of(row)
        # GPUs are listed in ascending order: one that does not follow begins a round.
        self.tick += index <= self._last_gpu
        self._last_gpu = index
        at, _ = self._moment(row)
        if at is None:
            return
        has_date = "date" in self.columns
        if has_date and facts.capture_start_local_ns is None:
            facts.capture_start_local_ns = at
        if not zero:
            zero.append(at)
        if self.clock is None:
            self.clock = Clock((facts.capture_start_local_ns or 0) if has_date else zero[0])
        self.clock.take(at, has_date)

    def _moment(self, row: list[str]) -> tuple[int | None, bool]:
        """A row's time in ns, of its day or of 1970, and whether rows have one."""
        if "time" not in self.columns:
            return None, False
        clock = _CLOCK.fullmatch(row[self.columns.index("time")])
        if not clock:
            return None, True
        hours, minutes, seconds = map(int, clock.groups())
        at = (hours * 3600 + minutes * 60 + seconds) * 10**9
        if "date" not in self.columns:
            return at, True
        date = row[self.columns.index("date")]
        try:
            day = datetime.strptime(date if _DATE.fullmatch(date) else "", "%Y%m%d")
        except ValueError:
            return None, True
        days = (day - datetime(1970, 1, 1)).days
        return (at + days * _DAY_NS, True) if 0 <= days < _MOST_DAYS else (None, True)
