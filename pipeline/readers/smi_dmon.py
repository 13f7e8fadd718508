"""Reads what ``nvidia-smi dmon`` prints: a table with a header, one row per GPU and round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers import telemetry
from pipeline.readers.foreign_lines import begins_other, is_of_other, is_row_of_other
from pipeline.readers.gpu_series import SampleBuffer, Series, SeriesTable
from pipeline.readers.launcher_prefix import Prefixed, announced_host, without_prefix
from pipeline.readers.record import Facts, Head, Hints, Issue, Part, Recording
from pipeline.readers.smi_dmon_table import HEADER, NO_METRICS, UNITS, Table, cells_of, columns_of
from pipeline.readers.smi_units import in_unit
from pipeline.readers.text import Skipped, lines_with_end, without_escapes

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.readers.telemetry import Metric

FORMAT = "nvidia-smi-dmon"
SUFFIXES: tuple[str, ...] = ()

_OWN = "smi_dmon"
_WAY_OUT = "look at the line; rows that a full disk or a kill cut short cannot be repaired"
_LONGEST_HEADER = 2048


def recognise(head: Head) -> bool:
    """Whether the text has the header line of ``nvidia-smi dmon``."""
    text = head.text
    if any(columns_of(found[0]) for found in HEADER.finditer(text)):
        return True
    at = text.find("# gpu ")
    while at >= 0:  # behind a launcher's prefix
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[text.rfind("\n", 0, at) + 1 : end]
        bare = without_prefix(without_escapes(line[:_LONGEST_HEADER])).line
        if HEADER.fullmatch(bare) and columns_of(bare):
            return True
        at = text.find("# gpu ", end)
    return False


def read(path: Path, name: str, pieces: int, hints: Hints) -> Recording:
    """The samples of ``nvidia-smi dmon``; a table of rounds is one piece.

    The refusal is set while reading, when no row could be used.
    """
    facts = Facts(FORMAT, host=hints.host, status_reason="the format has no end mark")
    recording = Recording(facts, [])
    log = _Log(path, hints, recording)
    recording.parts.append(Part("gpu_sample", log.batches))
    return recording


@dataclass
class _Log:
    """The state of reading one file: a table per launcher's prefix, mostly one."""

    path: Path
    hints: Hints
    recording: Recording
    series: SeriesTable = field(default_factory=SeriesTable)
    skipped: Skipped = field(default_factory=Skipped)
    tables: dict[tuple[object, ...], Table] = field(default_factory=dict)
    numbers: dict[tuple[str | None, int, Metric], tuple[int, int]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    announced: str | None = None  # the host whose lines pssh says these are
    absent: int = 0
    zero: list[int] = field(default_factory=list)  # the first time of day

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of ``gpu_sample`` in the order of the file."""
        buffer = SampleBuffer(self.series)
        for number, line, is_whole in lines_with_end(self.path):
            self._take(number, without_escapes(line), is_whole, buffer)
            yield from buffer.full()
        yield from buffer.rest()
        self._tell()

    def _table_of(self, line: str) -> tuple[Table | None, str]:
        """The table that a line may belong to, and the line without its launcher's prefix."""
        self.announced = announced_host(line) or self.announced
        bare = without_prefix(line)
        if bare.who == Prefixed("").who:
            bare = replace(bare, host=self.announced)
        columns = columns_of(bare.line) if HEADER.fullmatch(bare.line) else []
        if columns:
            table = self.tables.setdefault(bare.who, Table(self._host(bare)))
            if table.columns != columns or table.is_over or table.is_paused:
                table.strays.drop()  # what stood between two tables
            table.strays.tell(self.skipped)
            table.begin(columns, bare.line)
            return None, bare.line
        if bare.who in self.tables:
            return self.tables[bare.who], bare.line
        return self.tables.get(Prefixed("").who), line

    def _host(self, bare: Prefixed) -> str | None:
        # Tasks have the same indices of GPUs, and nothing else says that they are of other hosts.
        task = None if bare.task is None else f"task{bare.task}"
        return self.hints.host or bare.host or task

    def _take(self, number: int, line: str, is_whole: bool, buffer: SampleBuffer) -> None:
        table, line = self._table_of(line)
        if table is None:
            return
        if not line.strip(" \t,"):
            table.is_paused = True
        elif UNITS.match(line) and not table.is_over:
            self._check_units(table, number, line)
        elif is_row_of_other(line):
            return
        elif not is_whole and not table.is_as_long_as_others(line) and table.looks_like_row(line):
            self.skipped.add("the last line is cut short", number, line)
            facts = self.recording.facts
            facts.status, facts.status_reason = "incomplete", "its last line is cut short"
        elif row := table.row_of(line):
            table.strays.tell(self.skipped)
            table.is_paused = False
            self._keep(table, row, line, buffer)
        elif begins_other(line, _OWN) or HEADER.fullmatch(line):  # the latter is pmon's
            table.strays.drop()
            table.is_over = True
        elif announced_host(line) or is_of_other(line):
            return
        elif table.looks_like_row(line):
            self.skipped.add(table.why_no_row(line), number, line)
        elif not table.is_over:
            table.strays.hold(number, line)

    def _check_units(self, table: Table, number: int, line: str) -> None:
        """Drops a column whose unit is not the one its metric is scaled from."""
        units = cells_of(line.replace("#", " ", 1))
        if len(units) != len(table.columns):
            self.skipped.add("units that are not one per column", number, line)
            table.metrics = [None] * len(table.columns)
            return
        for at, (metric, unit) in enumerate(zip(table.metrics, units, strict=True)):
            if metric:
                table.metrics[at] = in_unit(metric, unit)
                if metric.is_known and table.metrics[at] is None:
                    problem = f"column {table.columns[at]} in an unknown unit"
                    self.skipped.add(problem, number, unit)

    def _keep(self, table: Table, row: list[str], line: str, buffer: SampleBuffer) -> None:
        table.take(row, line, self.recording.facts, self.zero)
        index = table.gpu_of(row)
        ts_ns, tick = self._time(table)
        for column, cell, metric in zip(table.columns, row, table.metrics, strict=True):
            if column in NO_METRICS:
                continue
            if cell == "-":
                self.absent += 1
                continue
            if metric is None or not metric.is_known:
                self.unknown[column] += 1
                continue
            key = (table.host, index, metric)
            if key not in self.numbers:
                gpu = telemetry.gpu_of_index(index)
                series = Series(table.host, gpu, index, "gpu", None, metric)
                self.numbers[key] = self.series.number(series), self.series.field(metric)
            buffer.add(*self.numbers[key], ts_ns, tick, float(cell))

    def _time(self, table: Table) -> tuple[int | None, int | None]:
        if table.clock is not None:
            return table.clock.last_ns, None
        interval = self.hints.sample_interval_ns
        return (None if interval is None else table.tick * interval), table.tick

    # -- what is told at the end -----------------------------------------------------------

    def _tell(self) -> None:
        facts = self.recording.facts
        hosts = {table.host for table in self.tables.values()}
        facts.host = hosts.pop() if len(hosts) == 1 else None
        for issue in [*self.skipped.issues(_WAY_OUT), *self.series.issues()]:
            self.recording.report(issue)
        if self.unknown:
            columns = ", ".join(sorted(self.unknown))
            problem = f"columns of no known metric or unit, left out: {columns}"
            self.recording.report(Issue("note", "", problem, "", self.unknown.total()))
        if self.series.row_count:
            return
        if self.absent and not self.skipped.count and not self.series.reasons:
            problem = "every cell of the table says '-': nothing was measured"
            self.recording.report(Issue("note", "", problem, "", self.absent))
            return
        for table in self.tables.values():
            table.strays.tell(self.skipped)
        problem = "the table of nvidia-smi dmon has no row that can be used"
        if not self.skipped.count and self.series.reasons:
            problem += f": {next(iter(self.series.reasons))}"
        way_out = _WAY_OUT if self.skipped.count else "check that dmon ran and saw a GPU"
        self.recording.refusal = self.skipped.refusal(problem, way_out)
