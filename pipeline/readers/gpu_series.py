"""Series of GPU samples: who measured what, as numbers, and their rows as record batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.readers import telemetry
from pipeline.readers.record import Issue
from pipeline.readers.telemetry import Coded, Metric

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_ROWS_PER_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one GPU or part of it; the columns mean what they do in ``gpu_sample``."""

    host: str | None
    gpu_id: str
    device_id: int | None
    entity: str
    entity_id: str | None
    metric: Metric


class _Column:
    """A text column of the series: the code of each series' text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._codes: list[int] = []
        self._array = np.empty(0, np.int32)

    def append(self, text: str | None) -> None:
        code = -1 if text is None else self._numbers.setdefault(text, len(self._numbers))
        self._codes.append(code)

    def of(self, numbers: NDArray[np.int64]) -> Coded:
        if len(self._array) != len(self._codes):
            self._array = np.array(self._codes, np.int32)
        return Coded(self._array[numbers], list(self._numbers))


class SeriesTable:
    """Numbers the series of a file from 0, and makes batches of samples that name them so.

    Samples of tools that name a metric differently (by version, by job, by error code) get one
    number if host, GPU, part and canonical metric are the same: one series is one series.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._columns = {
            name: _Column() for name in ("host", "gpu_id", "entity", "entity_id", "metric")
        }
        self._devices: list[int] = []
        # A canonical metric may be told by several fields of different scale.
        self._fields: dict[Metric, int] = {}
        self._field_of: list[int] = []
        self.reasons: Counter[str] = Counter()
        self.row_count = 0

    def __len__(self) -> int:
        return len(self._devices)

    def number(self, series: Series) -> int:
        """The number of a series, a new one if it was not met before."""
        # A UUID is one GPU whatever a scrape calls its host (an exporter's pod, say).
        host = series.host if ":" in series.gpu_id else None
        key = (host, series.gpu_id, series.entity, series.entity_id, series.metric.name)
        number = self._numbers.setdefault(key, len(self._devices))
        if number == len(self._devices):
            for name, column in self._columns.items():
                text = series.metric.name if name == "metric" else getattr(series, name)
                column.append(text)
            self._devices.append(-1 if series.device_id is None else series.device_id)
        return number

    def field(self, metric: Metric) -> int:
        """A number for how a tool tells a metric: its scale and range."""
        return self._fields.setdefault(metric, len(self._fields))

    def batch(
        self,
        numbers: NDArray[np.int64],
        fields: NDArray[np.int64],
        ts_ns: NDArray[np.int64] | None,
        tick: NDArray[np.int64] | None,
        raw: NDArray[np.float64],
    ) -> pa.RecordBatch:
        """Rows of ``gpu_sample``: series number, field number, time, round and raw value of each.

        Values that are none (NaN, blanks, beyond what can be) are left out and counted.
        """
        values = np.full(len(raw), np.nan)
        metrics = list(self._fields)
        for field in np.unique(fields).tolist():
            chosen = np.flatnonzero(fields == field)
            values[chosen], reasons = telemetry.clean(metrics[field], raw[chosen])
            self.reasons.update(reasons)
        columns = {name: column.of(numbers) for name, column in self._columns.items()}
        devices = np.array(self._devices, np.int64)[numbers]
        self.row_count += int(np.count_nonzero(~np.isnan(values)))
        return telemetry.sample_batch(
            device_id=devices, ts_ns=ts_ns, tick=tick, value=values, **columns
        )

    def issues(self) -> list[Issue]:
        """What was left out for its value, per reason."""
        return [
            Issue(
                "note" if reason == telemetry.BLANK else "warning",
                "",
                f"samples left out: {reason}",
                "the others of the series are kept",
                count,
            )
            for reason, count in sorted(self.reasons.items())
        ]


class SampleBuffer:
    """Samples one by one into batches; ``full`` and ``rest`` give the batches that are due."""

    def __init__(self, table: SeriesTable) -> None:
        self._table = table
        self._samples: list[tuple[int, int, int | None, int | None, float]] = []

    def add(self, number: int, field: int, ts_ns: int | None, tick: int | None, raw: float) -> None:
        """One sample of a series, in the unit of its field."""
        self._samples.append((number, field, ts_ns, tick, raw))

    def full(self) -> Iterator[pa.RecordBatch]:
        """Batches, if enough samples wait for it to pay."""
        if len(self._samples) >= _ROWS_PER_BATCH:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Batches of all samples that wait: those with a clock apart from those without."""
        samples, self._samples = self._samples, []
        for kind in sorted({(one[2] is None, one[3] is None) for one in samples}):
            chosen = [one for one in samples if (one[2] is None, one[3] is None) == kind]
            numbers, fields, times, ticks, raw = zip(*chosen, strict=True)
            yield self._table.batch(
                np.array(numbers, np.int64),
                np.array(fields, np.int64),
                None if kind[0] else np.array(times, np.int64),
                None if kind[1] else np.array(ticks, np.int64),
                np.array(raw, np.float64),
            )
