"""Reads the CSV of ``nvidia-smi --query-gpu``: a header of columns, one row per GPU and round."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers import telemetry
from pipeline.readers.gpu_identity import Devices, plain_bus_id, plain_uuid
from pipeline.readers.gpu_series import SampleBuffer, Series, SeriesTable
from pipeline.readers.record import Facts, Head, Hints, Issue, Part, Recording, Refused
from pipeline.readers.smi_columns import (
    IDENTITY,
    Column,
    columns_of,
    has_unit,
    has_whole_end,
    is_time,
    looks_like_row,
    non_value,
    number,
)
from pipeline.readers.text import Skipped, lines_with_end, without_escapes

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.readers.telemetry import Metric

FORMAT = "nvidia-smi-query"
SUFFIXES: tuple[str, ...] = ()

_HEADER_LIKE = re.compile(r"^\ufeff?[ \t]*[A-Za-z][^\n]*$", re.MULTILINE)
_UUID = re.compile(r"GPU-[0-9A-Za-z-]{1,64}")
_LINES_LOOKED_AT = 20
# As nanoseconds, an int64 holds them.
_MOST_DAYS = 100_000
_WAY_OUT = "look at the line; rows that a full disk or a kill cut short cannot be repaired"


def recognise(head: Head) -> bool:
    """Whether the text has a header line of ``nvidia-smi --query-gpu --format=csv``."""
    return any(
        columns_of(found[0].lstrip("\ufeff"))
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
    table = _Table(path, hints, recording)
    recording.parts.append(Part("gpu_sample", table.batches))
    recording.closing_parts.append(table.devices.part())
    return recording


@dataclass(frozen=True, eq=False)
class _Gpu:
    """A GPU as rows tell it, one for all of them."""

    host: str | None
    gpu_id: str
    device_id: int | None
    bus_id: str | None
    uuid: str | None


@dataclass
class _Table:
    """The state of reading one file: current header, sampling round, clock."""

    path: Path
    hints: Hints
    recording: Recording
    series: SeriesTable = field(default_factory=SeriesTable)
    devices: Devices = field(default_factory=Devices)
    skipped: Skipped = field(default_factory=Skipped)
    columns: list[Column] = field(default_factory=list)
    gpus: dict[tuple[str | None, ...], _Gpu] = field(default_factory=dict)
    numbers: dict[tuple[_Gpu, str, float], tuple[int, int]] = field(default_factory=dict)
    non_values: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    # GPUs in the order of the first round: one that does not follow begins a round.
    order: dict[str, int] = field(default_factory=dict)
    last_in_order: int = -1
    tick: int = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of ``gpu_sample`` in the order of the file."""
        buffer = SampleBuffer(self.series)
        for at, line, has_end in lines_with_end(self.path):
            line = without_escapes(line).strip("\ufeff \t")
            if not line or ("," not in line and len(self.columns) > 1):
                continue
            columns = columns_of(line) if line[0].isalpha() else []
            if columns:
                self.columns = columns
            elif self.columns:
                self._read_line(at, line, has_end, buffer)
                yield from buffer.full()
        yield from buffer.rest()
        self._tell()

    def _read_line(self, at: int, line: str, has_end: bool, buffer: SampleBuffer) -> None:
        cells = [cell.strip() for cell in line.split(",")]
        if not looks_like_row(cells, len(self.columns)):
            return  # other output of the job
        is_torn = not has_end and not has_whole_end(cells[-1], self.columns[-1])
        if is_torn:
            facts = self.recording.facts
            facts.status, facts.status_reason = "incomplete", "its last line is cut short"
            self.skipped.add("the last line is cut short", at, line)
        elif len(cells) != len(self.columns):
            problem = f"a row of {len(cells)} cells below {len(self.columns)} columns"
            self.skipped.add(problem, at, line)
        else:
            self._read_row(at, line, cells, buffer)

    def _read_row(self, at: int, line: str, cells: list[str], buffer: SampleBuffer) -> None:
        told = {
            column.name: cell
            for column, cell in zip(self.columns, cells, strict=True)
            if column.name in IDENTITY and non_value(cell) is None
        }
        time = told.get("timestamp")
        moment = None if time is None else _moment_ns(time)
        if ("timestamp" in (column.name for column in self.columns)) != (moment is not None):
            self.skipped.add("a row without a time that can be read", at, line)
            return
        gpu = self._gpu(told)
        if gpu is None:
            self.skipped.add("a row that does not say which GPU it is of", at, line)
            return
        values = self._values(at, line, cells)
        if values is None:
            return
        self._describe(gpu, told, values)
        facts = self.recording.facts
        if moment is not None and facts.capture_start_local_ns is None:
            facts.capture_start_local_ns = moment
        ts_ns, tick = self._time(gpu, moment)
        for metric, raw in values.values():
            key = (gpu, metric.name, metric.scale)
            if key not in self.numbers:
                own = Series(gpu.host, gpu.gpu_id, gpu.device_id, "gpu", None, metric)
                self.numbers[key] = self.series.number(own), self.series.field(metric)
            buffer.add(*self.numbers[key], ts_ns, tick, raw)

    def _values(
        self, at: int, line: str, cells: list[str]
    ) -> dict[str, tuple[Metric, float]] | None:
        """Metric and number by metric's name; None when a cell of the row cannot be read."""
        values: dict[str, tuple[Metric, float]] = {}
        absent: Counter[str] = Counter()
        unknown: Counter[str] = Counter()
        for column, cell in zip(self.columns, cells, strict=True):
            if column.name in IDENTITY:
                continue
            said = non_value(cell)
            if column.metric is None:
                unknown[column.name] += said is None
            elif said is not None:
                absent[said] += 1
            else:
                try:
                    metric, value = number(cell, column)
                except ValueError:
                    problem = f"a row whose {column.name} is no number in the unit of its column"
                    self.skipped.add(problem, at, cell)
                    return None
                # Two names of one metric (clocks.sm, clocks.current.sm) say the same twice.
                values.setdefault(metric.name, (metric, value))
        self.non_values += absent
        self.left_out += unknown
        return values

    def _gpu(self, told: dict[str, str]) -> _Gpu | None:
        uuid = told.get("uuid", told.get("gpu_uuid"))
        bus = told.get("pci.bus_id", told.get("gpu_bus_id"))
        index = told.get("index", "0" if told.get("count") == "1" else None)
        key = (uuid, bus, index, told.get("hostname"))
        if key in self.gpus:
            return self.gpus[key]
        is_odd = uuid is not None and not _UUID.fullmatch(uuid)
        is_odd |= bus is not None and plain_bus_id(bus) is None
        if is_odd or (index is not None and not re.fullmatch(r"[0-9]{1,4}", index)):
            return None
        own, bus_id = plain_uuid(uuid or ""), plain_bus_id(bus or "")
        device_id = None if index is None else int(index)
        by_index = None if device_id is None else telemetry.gpu_of_index(device_id)
        gpu_id = own or bus_id or by_index
        if gpu_id is None:
            return None
        host = told.get("hostname", self.hints.host)
        return self.gpus.setdefault(key, _Gpu(host, gpu_id, device_id, bus_id, own))

    def _describe(
        self, gpu: _Gpu, told: dict[str, str], values: dict[str, tuple[Metric, float]]
    ) -> None:
        def whole(metric: str) -> int | None:
            if metric not in values:
                return None
            field_, raw = values[metric]
            return round(raw * field_.scale) if 0 < raw * field_.scale < 1 << 62 else None

        self.devices.describe(
            gpu.gpu_id,
            gpu.device_id,
            name=told.get("name", told.get("gpu_name")),
            uuid=gpu.uuid,
            bus_id=gpu.bus_id,
            memory_bytes=whole("fb_total_bytes"),
            clock_hz=whole("max_sm_clock_hz"),
            compute_capability=told.get("compute_cap"),
        )
        facts = self.recording.facts
        facts.tool_version = facts.tool_version or told.get("driver_version")
        facts.host = facts.host or gpu.host

    # -- time ------------------------------------------------------------------------------

    def _time(self, gpu: _Gpu, moment: int | None) -> tuple[int | None, int | None]:
        """Time since the first row and, without a clock, the sampling round."""
        if moment is not None:
            return moment - (self.recording.facts.capture_start_local_ns or 0), None
        place = self.order.setdefault(gpu.gpu_id, len(self.order))
        self.tick += place <= self.last_in_order
        self.last_in_order = place
        interval = self.hints.sample_interval_ns
        return (None if interval is None else self.tick * interval), self.tick

    # -- what is told at the end -----------------------------------------------------------

    def _tell(self) -> None:
        for issue in [*self.skipped.issues(_WAY_OUT), *self.series.issues()]:
            self.recording.report(issue)
        for said, count in sorted(self.non_values.items()):
            problem = f"cells of known metrics say '{said}'"
            self.recording.report(Issue("note", "", problem, "", count))
        left_out = sorted(name for name, count in self.left_out.items() if count)
        if left_out:
            problem = f"columns of no known metric or unit, left out: {', '.join(left_out)}"
            self.recording.report(Issue("note", "", problem, "", self.left_out.total()))
        if not self.series.row_count:
            self.recording.refusal = Refused(
                "the CSV of nvidia-smi has no row that can be used",
                "a row needs index, uuid or pci.bus_id among its columns, and numbers",
            )


def _moment_ns(text: str) -> int | None:
    """``2026/07/14 08:12:53.353`` as ns since 1970, as if it were UTC; None if it is no time."""
    if not is_time(text):
        return None
    whole, _, fraction = text.replace("-", "/").partition(".")
    seconds = _seconds(whole)
    return None if seconds is None else seconds * 10**9 + int(fraction.ljust(9, "0"))


@lru_cache(maxsize=1024)
def _seconds(text: str) -> int | None:
    try:
        since = datetime.strptime(text, "%Y/%m/%d %H:%M:%S") - datetime(1970, 1, 1)
    except ValueError:
        return None
    return since.days * 86_400 + since.seconds if 0 <= since.days < _MOST_DAYS else None
