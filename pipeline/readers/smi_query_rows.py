"""Rows of one CSV of ``nvidia-smi --query-gpu``, many at once: a column's few different cells are
read once each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pipeline.readers import telemetry
from pipeline.readers.gpu_identity import Devices, plain_bus_id, plain_uuid
from pipeline.readers.gpu_series import Series, SeriesTable
from pipeline.readers.record import Facts, Hints
from pipeline.readers.smi_columns import IDENTITY, Column, is_time, non_value, number
from pipeline.readers.text import Skipped

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from pipeline.readers.telemetry import Metric

_UUID = re.compile(r"GPU-[0-9A-Za-z-]{1,64}")
# As nanoseconds, an int64 holds them.
_MOST_DAYS = 100_000
_DESCRIBING = {"memory_bytes": "fb_total_bytes", "clock_hz": "max_sm_clock_hz"}


@dataclass(frozen=True)
class Line:
    """A line that has a cell for each column."""

    number: int
    text: str
    cells: list[str]


@dataclass(frozen=True, eq=False)
class _Gpu:
    """A GPU as rows tell it, one for all of them."""

    host: str | None
    gpu_id: str
    device_id: int | None
    bus_id: str | None
    uuid: str | None


@dataclass
class _Cells:
    """One metric's values in some rows, as read; NaN for none. ``fields`` says their scale."""

    metrics: list[Metric]
    raw: NDArray[np.float64]
    fields: NDArray[np.int64]


@dataclass
class Found:
    """What all tables of a file tell together."""

    hints: Hints
    facts: Facts
    series: SeriesTable = field(default_factory=SeriesTable)
    devices: Devices = field(default_factory=Devices)
    skipped: Skipped = field(default_factory=Skipped)
    non_values: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    row_count: int = 0


@dataclass
class Rows:
    """Decodes the rows of one table; knows its GPUs and its sampling round."""

    found: Found
    host: str | None  # that a launcher names
    gpus: dict[tuple[str | None, ...], _Gpu | None] = field(default_factory=dict)
    numbers: dict[tuple[_Gpu, str], int] = field(default_factory=dict)
    # GPUs in the order of the first round: one that does not follow begins a round.
    order: dict[str, int] = field(default_factory=dict)
    last_in_order: int = -1
    tick: int = 0

    def batches(self, columns: list[Column], lines: list[Line]) -> Iterator[pa.RecordBatch]:
        """The samples of ``lines``, row by row."""
        # To strip every cell takes longer than to read the few that differ.
        transposed = zip(*(line.cells for line in lines), strict=True)
        table: list[tuple[str, ...]] = [
            tuple(map(str.strip, cells)) if column.name in IDENTITY else cells
            for column, cells in zip(columns, transposed, strict=True)
        ]
        gpus, moments, is_kept = self._who_and_when(columns, lines, table)
        values, absent = self._values(columns, lines, table, is_kept)
        kept = np.flatnonzero(is_kept)
        if not len(kept):
            return
        self.found.row_count += len(kept)
        for said, where in absent:
            self.found.non_values[said] += int(np.count_nonzero(where[kept]))
        self._describe(gpus, values, kept)
        if not values:
            return
        own = [gpus[at] for at in kept.tolist()]
        ts_ns, ticks = self._times(own, moments, kept)
        distinct = {gpu: code for code, gpu in enumerate(dict.fromkeys(gpu for gpu, _ in own))}
        numbers = [[self._number(gpu, c.metrics[0]) for c in values.values()] for gpu in distinct]
        series = np.array(numbers, np.int64)[[distinct[gpu] for gpu, _ in own]]
        raw = np.array([cells.raw[kept] for cells in values.values()]).T
        fields = np.array([cells.fields[kept] for cells in values.values()]).T
        width = raw.shape[1]
        is_value = ~np.isnan(raw.ravel())
        yield self.found.series.batch(
            series.ravel()[is_value],
            fields.ravel()[is_value],
            None if ts_ns is None else np.repeat(ts_ns, width)[is_value],
            None if ticks is None else np.repeat(ticks, width)[is_value],
            raw.ravel()[is_value],
        )

    # -- whose and when --------------------------------------------------------------------

    def _who_and_when(
        self, columns: list[Column], lines: list[Line], table: list[tuple[str, ...]]
    ) -> tuple[list[tuple[_Gpu, dict[str, str]]], list[int], NDArray[np.bool_]]:
        """Each row's GPU with what identifies it, its time, and whether it has both."""
        names = [column.name for column in columns]
        places = [at for at, name in enumerate(names) if name in IDENTITY and name != "timestamp"]
        times = table[names.index("timestamp")] if "timestamp" in names else None
        is_kept = np.ones(len(lines), np.bool_)
        gpus: list[tuple[_Gpu, dict[str, str]]] = []
        nobody = _Gpu(None, "", None, None, None)
        moments = [0] * len(lines)
        told_of: dict[tuple[str, ...], dict[str, str]] = {}
        identities = (
            zip(*(table[at] for at in places), strict=True) if places else [()] * len(lines)
        )
        for at, cells in enumerate(identities):
            told = told_of.get(cells)
            if told is None:
                pairs = zip(places, cells, strict=True)
                told = told_of[cells] = {names[p]: c for p, c in pairs if non_value(c) is None}
            moment = _moment_ns(times[at]) if times else 0
            gpu = self._gpu(told)
            gpus.append((gpu or nobody, told))
            if moment is None:
                self._skip("a row without a time that can be read", lines[at], is_kept, at)
            elif gpu is None:
                self._skip("a row that does not say which GPU it is of", lines[at], is_kept, at)
            else:
                moments[at] = moment
        return gpus, moments if times else [], is_kept

    def _skip(self, reason: str, line: Line, is_kept: NDArray[np.bool_], at: int) -> None:
        is_kept[at] = False
        self.found.skipped.add(reason, line.number, line.text)

    def _gpu(self, told: dict[str, str]) -> _Gpu | None:
        uuid = told.get("uuid", told.get("gpu_uuid"))
        bus = told.get("pci.bus_id", told.get("gpu_bus_id"))
        index = told.get("index", "0" if told.get("count") == "1" else None)
        key = (uuid, bus, index, told.get("hostname"))
        if key in self.gpus:
            return self.gpus[key]
        is_odd = uuid is not None and not _UUID.fullmatch(uuid)
        is_odd |= bus is not None and plain_bus_id(bus) is None
        is_odd |= index is not None and not re.fullmatch(r"[0-9]{1,4}", index)
        own, bus_id = plain_uuid(uuid or ""), plain_bus_id(bus or "")
        device_id = None if index is None or is_odd else int(index)
        by_index = None if device_id is None else telemetry.gpu_of_index(device_id)
        gpu_id = own or bus_id or by_index
        host = told.get("hostname", self.host)
        gpu = _Gpu(host, gpu_id, device_id, bus_id, own) if gpu_id and not is_odd else None
        self.gpus[key] = gpu
        return gpu

    def _describe(
        self,
        gpus: list[tuple[_Gpu, dict[str, str]]],
        values: dict[str, _Cells],
        kept: NDArray[np.int64],
    ) -> None:
        """Notes what the rows say of each GPU as such; the first row that says it counts."""
        met: dict[_Gpu, list[int]] = {}
        for at in kept.tolist():
            met.setdefault(gpus[at][0], []).append(at)
        facts = self.found.facts
        for gpu, places in met.items():
            told = gpus[places[0]][1]
            known: dict[str, int | None] = {}
            for name, metric in _DESCRIBING.items():
                known[name] = _first_whole(values[metric], places) if metric in values else None
            self.found.devices.describe(
                gpu.gpu_id,
                gpu.device_id,
                name=told.get("name", told.get("gpu_name")),
                uuid=gpu.uuid,
                bus_id=gpu.bus_id,
                compute_capability=told.get("compute_cap"),
                **known,
            )
            facts.tool_version = facts.tool_version or told.get("driver_version")
            facts.host = facts.host or gpu.host

    # -- values ----------------------------------------------------------------------------

    def _values(
        self,
        columns: list[Column],
        lines: list[Line],
        table: list[tuple[str, ...]],
        is_kept: NDArray[np.bool_],
    ) -> tuple[dict[str, _Cells], list[tuple[str, NDArray[np.bool_]]]]:
        """Values by metric's name, and where known metrics say why they have none.

        A row with a cell that cannot be read is not kept: other cells of it may be damaged too.
        """
        values: dict[str, _Cells] = {}
        absent: list[tuple[str, NDArray[np.bool_]]] = []
        bad: dict[int, tuple[str, str]] = {}
        unknown: list[tuple[str, NDArray[np.bool_]]] = []
        for column, cells in zip(columns, table, strict=True):
            if column.name in IDENTITY:
                continue
            distinct = {text: code for code, text in enumerate(dict.fromkeys(cells))}
            codes = np.fromiter(map(distinct.__getitem__, cells), np.int64, len(cells))
            if column.metric is None:
                is_said = np.array([non_value(text.strip()) is None for text in distinct])
                unknown.append((column.name, is_said[codes]))
                continue
            raw, fields, metrics = np.full(len(distinct), np.nan), np.zeros(len(distinct), int), []
            for cell, code in distinct.items():
                text = cell.strip()
                said = non_value(text)
                if said is not None:
                    absent.append((said, codes == code))
                    continue
                try:
                    metric, raw[code] = number(text, column)
                except ValueError:
                    for at in np.flatnonzero(codes == code).tolist():
                        bad.setdefault(at, (column.name, text))
                    continue
                metrics.append(metric)
                fields[code] = self.found.series.field(metric)
            # Two names of one metric (clocks.sm, clocks.current.sm) say the same twice.
            own = _Cells(metrics or [column.metric], raw[codes], fields[codes])
            before = values.setdefault(column.metric.name, own)
            if before is not own:
                is_new = np.isnan(before.raw)
                before.raw[is_new], before.fields[is_new] = own.raw[is_new], own.fields[is_new]
        for at, (name, text) in sorted(bad.items()):
            if is_kept[at]:
                problem = f"a row whose {name} is no number in the unit of its column"
                self.found.skipped.add(problem, lines[at].number, text)
                is_kept[at] = False
        for name, is_said in unknown:
            self.found.left_out[name] += int(np.count_nonzero(is_said & is_kept))
        return values, absent

    def _number(self, gpu: _Gpu, metric: Metric) -> int:
        key = (gpu, metric.name)
        known = self.numbers.get(key)
        if known is None:
            own = Series(gpu.host, gpu.gpu_id, gpu.device_id, "gpu", None, metric)
            known = self.numbers[key] = self.found.series.number(own)
        return known

    # -- time ------------------------------------------------------------------------------

    def _times(
        self,
        gpus: list[tuple[_Gpu, dict[str, str]]],
        moments: list[int],
        kept: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
        """Times since the first row and, without a clock, the sampling rounds."""
        facts = self.found.facts
        if moments:
            when = np.array(moments, np.int64)[kept]
            if facts.capture_start_local_ns is None:
                facts.capture_start_local_ns = int(when[0])
            return when - facts.capture_start_local_ns, None
        ticks = []
        for gpu, _ in gpus:
            place = self.order.setdefault(gpu.gpu_id, len(self.order))
            self.tick += place <= self.last_in_order
            self.last_in_order = place
            ticks.append(self.tick)
        rounds = np.array(ticks, np.int64)
        interval = self.found.hints.sample_interval_ns
        return (None if interval is None else rounds * interval), rounds


def _first_whole(cells: _Cells, places: list[int]) -> int | None:
    """The first value of some rows in the metric's unit, if it can be one."""
    raw = cells.raw[places]
    found = np.flatnonzero(~np.isnan(raw))
    if not len(found):
        return None
    value = float(raw[found[0]]) * cells.metrics[0].scale
    return round(value) if 0 < value < 1 << 62 else None


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
