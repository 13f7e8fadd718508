"""Reads what ``nvidia-smi dmon`` prints: a table with a header, one row per GPU and round."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers import telemetry
from pipeline.readers.gpu_series import SampleBuffer, Series, SeriesTable
from pipeline.readers.record import Facts, Head, Hints, Issue, Part, Recording, Refused
from pipeline.readers.smi_units import in_unit
from pipeline.readers.text import Skipped, lines_with_end, without_escapes

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.readers.telemetry import Metric

FORMAT = "nvidia-smi-dmon"
SUFFIXES: tuple[str, ...] = ()

# `-o D` and `-o T` put date and time first; `--format csv` puts commas between.
_HEADER = re.compile(
    r"^[ \t]*#[ \t]*(?:date[ \t,]+)?(?:time[ \t,]+)?gpu(?:[ \t,]+[a-z0-9_]+)+[ \t,]*$",
    re.IGNORECASE | re.MULTILINE,
)
_UNITS = re.compile(r"^\s*#\s*(?:YYYYMMDD[\s,]+)?(?:HH:MM:SS[\s,]+)?Idx\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d)", re.ASCII)
_NO_METRICS = ("date", "time", "gpu")
_DAY_NS = 86_400 * 10**9
_MOST_GPUS = 1024
# As nanoseconds, an int64 holds them.
_MOST_DAYS = 100_000
_WAY_OUT = "look at the line; rows that a full disk or a kill cut short cannot be repaired"


def recognise(head: Head) -> bool:
    """Whether the text has the header line of ``nvidia-smi dmon``."""
    return any(_columns(found[0]) for found in _HEADER.finditer(head.text))


def read(path: Path, name: str, pieces: int, hints: Hints) -> Recording:
    """The samples of ``nvidia-smi dmon``; a table of rounds is one piece.

    The refusal is set while reading, when no row could be used.
    """
    facts = Facts(FORMAT, host=hints.host, status_reason="the format has no end mark")
    recording = Recording(facts, [])
    table = _Table(path, hints, recording)
    recording.parts.append(Part("gpu_sample", table.batches))
    return recording


def _cells(line: str) -> list[str]:
    return line.replace(",", " ").split()


def _columns(header: str) -> list[str]:
    """The columns after a header's mark, in small letters; none when it is not dmon's."""
    columns = [cell.lower() for cell in _cells(header.replace("#", " ", 1))]
    # pmon's table looks alike, but is of processes.
    if "pid" in columns or not any(telemetry.by_smi_dmon(name).is_known for name in columns):
        return []
    return columns


def _looks_like_row(cells: list[str], width: int) -> bool:
    numbers = sum(cell == "-" or bool(_NUMBER.fullmatch(cell)) for cell in cells)
    return 2 * len(cells) >= width and 2 * numbers >= len(cells)


@dataclass
class _Table:
    """The state of reading one file: current header, sampling round, clock."""

    path: Path
    hints: Hints
    recording: Recording
    series: SeriesTable = field(default_factory=SeriesTable)
    skipped: Skipped = field(default_factory=Skipped)
    columns: list[str] = field(default_factory=list)
    metrics: list[Metric | None] = field(default_factory=list)
    numbers: dict[tuple[int, Metric], tuple[int, int]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    tick: int = 0
    last_gpu: int = -1
    # Where the last value of a row ends, as in every row of a table with aligned columns.
    row_end: int = 0
    last_clock_ns: int | None = None
    first_clock_ns: int = 0
    days: int = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of ``gpu_sample`` in the order of the file."""
        buffer = SampleBuffer(self.series)
        for number, line, is_whole in lines_with_end(self.path):
            line = without_escapes(line)
            if _HEADER.fullmatch(line) and (columns := _columns(line)):
                self._use(columns)
                self.row_end = len(line.rstrip())
            elif self.columns and _UNITS.match(line):
                self._check_units(number, line)
            elif self.columns and (is_whole or self._is_as_long_as_others(number, line)):
                self._read_row(number, line, buffer)
                yield from buffer.full()
        yield from buffer.rest()
        self._tell()

    def _use(self, columns: list[str]) -> None:
        self.columns = columns
        self.metrics = [
            None if column in _NO_METRICS else telemetry.by_smi_dmon(column) for column in columns
        ]

    def _check_units(self, number: int, line: str) -> None:
        """Drops a column whose unit is not the one its metric is scaled from."""
        units = _cells(line.replace("#", " ", 1))
        if len(units) != len(self.columns):
            self.skipped.add("units that are not one per column", number, line)
            self.metrics = [None] * len(self.columns)
            return
        for at, (metric, unit) in enumerate(zip(self.metrics, units, strict=True)):
            if metric:
                self.metrics[at] = in_unit(metric, unit)
                if metric.is_known and self.metrics[at] is None:
                    self.skipped.add(f"column {self.columns[at]} in an unknown unit", number, unit)

    def _is_as_long_as_others(self, number: int, line: str) -> bool:
        """Whether a last line without its end is whole: its last number ends where it should."""
        if len(line.rstrip()) == self.row_end or not _looks_like_row(
            _cells(line), len(self.columns)
        ):
            return True
        self.skipped.add("the last line is cut short", number, line)
        self.recording.facts.status = "incomplete"
        self.recording.facts.status_reason = "its last line is cut short"
        return False

    def _read_row(self, number: int, line: str, buffer: SampleBuffer) -> None:
        cells = _cells(line)
        if not cells or not _looks_like_row(cells, len(self.columns)):
            return  # other output of the job
        if len(cells) != len(self.columns):
            problem = f"a row of {len(cells)} cells below {len(self.columns)} columns"
            self.skipped.add(problem, number, line)
            return
        row = dict(zip(self.columns, cells, strict=True))
        values = cells[self.columns.index("gpu") + 1 :]
        index = (
            int(row["gpu"])
            if row["gpu"].isascii() and row["gpu"].isdigit() and len(row["gpu"]) < 5
            else _MOST_GPUS
        )
        is_read = all(cell == "-" or _NUMBER.fullmatch(cell) for cell in values)
        if index >= _MOST_GPUS or not is_read or not self._take_time(row):
            self.skipped.add("a row that does not read as numbers", number, line)
            return
        self._take_round(index)
        self.row_end = len(line.rstrip())
        for column, metric, cell in zip(self.columns, self.metrics, cells, strict=True):
            if column in _NO_METRICS or cell == "-":
                continue
            if metric is None or not metric.is_known:
                self.unknown[column] += 1
                continue
            key = (index, metric)
            if key not in self.numbers:
                gpu = telemetry.gpu_of_index(index)
                series = Series(self.hints.host, gpu, index, "gpu", None, metric)
                self.numbers[key] = self.series.number(series), self.series.field(metric)
            buffer.add(*self.numbers[key], self._ts_ns(), self._tick(), float(cell))

    def _take_round(self, index: int) -> None:
        """GPUs are listed in ascending order: one that does not follow begins a round."""
        if index <= self.last_gpu:
            self.tick += 1
        self.last_gpu = index

    # -- time ------------------------------------------------------------------------------

    def _take_time(self, row: dict[str, str]) -> bool:
        """Keeps the time of a row, if rows have one; whether it reads as one."""
        if "time" not in row:
            return True
        clock = _CLOCK.fullmatch(row["time"])
        if not clock:
            return False
        hours, minutes, seconds = map(int, clock.groups())
        at = (hours * 3600 + minutes * 60 + seconds) * 10**9
        facts = self.recording.facts
        if "date" in row:
            try:
                day = datetime.strptime(row["date"], "%Y%m%d")
            except ValueError:
                return False
            days = (day - datetime(1970, 1, 1)).days
            if not 0 <= days < _MOST_DAYS:
                return False
            at += days * _DAY_NS
            if facts.capture_start_local_ns is None:
                facts.capture_start_local_ns = at
            self.last_clock_ns = at - facts.capture_start_local_ns
            return True
        # Without the date only what passed since the first row is known; midnights are counted.
        if self.last_clock_ns is None:
            self.first_clock_ns = at
        at += self.days * _DAY_NS - self.first_clock_ns
        if self.last_clock_ns is not None and at < self.last_clock_ns - _DAY_NS // 2:
            self.days += 1
            at += _DAY_NS
        self.last_clock_ns = at
        return True

    def _ts_ns(self) -> int | None:
        if self.last_clock_ns is not None:
            return self.last_clock_ns
        interval = self.hints.sample_interval_ns
        return None if interval is None else self.tick * interval

    def _tick(self) -> int | None:
        return self.tick if self.last_clock_ns is None else None

    # -- what is told at the end -----------------------------------------------------------

    def _tell(self) -> None:
        for issue in [*self.skipped.issues(_WAY_OUT), *self.series.issues()]:
            self.recording.report(issue)
        if self.unknown:
            columns = ", ".join(sorted(self.unknown))
            problem = f"columns of no known metric or unit, left out: {columns}"
            self.recording.report(Issue("note", "", problem, "", self.unknown.total()))
        if not self.series.row_count:
            problem = "the table of nvidia-smi dmon has no row that can be used"
            self.recording.refusal = Refused(problem, "check that dmon ran and saw a GPU")
