"""GPU metrics of Nsight Systems exports, in both forms, as ``gpu_sample`` rows.

Since 2023 they are rows of GPU_METRICS; 2022 exports hold the same samples as JSON in
GENERIC_EVENTS. Names drift between versions, ids between files: a canonical name and a base
unit come from queries/reference/gpu_metric.csv.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers import telemetry
from pipeline.readers.nsys_identity import Identity, as_int, rows
from pipeline.readers.nsys_tables import as_numpy, source_batches
from pipeline.readers.sqlite_pages import Slice, SqliteFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS_PER_BATCH = 65_536


def canonical(name: str) -> tuple[str, float]:
    """A counter's name in nsys -> (canonical metric, factor to its base unit).

    A counter not in the reference table keeps its own name as an identifier, with the unit that
    the bracket in its name says.
    """
    bracket = re.search(r"\[([^\]]*)\]", name)
    plain = " ".join(re.sub(r"\[[^\]]*\]", "", name).split())
    known = telemetry.names("nsys_name").get(plain.lower())
    unit = bracket[1].lower() if bracket else ""
    if known and not (bracket and "avg" in unit):
        return known.name, known.scale
    slug = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
    if "%" in unit:
        return f"{slug}_share", 0.01
    if "frequency" in slug:
        return f"{slug}_hz", 1.0
    return (f"{slug}_{re.sub(r'[^a-z0-9]+', '_', unit)}" if unit else slug), 1.0


def gpu_index(type_id: int) -> int:
    """The GPU of a metric's type id: its low byte is TARGET_INFO_GPU.id."""
    return type_id & 0xFF


class Counters:
    """Turns counter rows of one export into the columns of ``gpu_sample``."""

    def __init__(self, db: SqliteFile, identity: Identity) -> None:
        self._db = db
        self._identity = identity
        self._metric = {
            (type_id, metric_id): canonical(str(row["metricName"]))
            for row in rows(
                db, "TARGET_INFO_GPU_METRICS", typeId="int", metricId="int", metricName="text"
            )
            if isinstance(type_id := row["typeId"], int)
            and isinstance(metric_id := row["metricId"], int)
        }
        self.unnamed = 0  # samples of counters that the export does not name
        self.odd = 0  # samples without a time or a number

    @property
    def source(self) -> str | None:
        """The table the samples stand in; GPU_METRICS where an export has both forms."""
        for table in ("GPU_METRICS", "GENERIC_EVENTS"):
            if table in self._db.tables and self._db.row_estimate(table) > 0:
                return table
        return None

    def batches(self, piece: Slice | None) -> Iterator[dict[str, pa.Array]]:
        """Columns of ``gpu_sample``, batch by batch."""
        if self.source == "GPU_METRICS":
            yield from self._from_rows(piece)
        else:
            yield from self._from_json(piece)

    def _from_rows(self, piece: Slice | None) -> Iterator[dict[str, pa.Array]]:
        kinds: Mapping[str, str] = {
            "timestamp": "int",
            "typeId": "int",
            "metricId": "int",
            "value": "int",
        }
        for columns in source_batches(self._db, "GPU_METRICS", kinds, piece):  # type: ignore[arg-type]
            is_whole = pc.and_(pc.is_valid(columns["timestamp"]), pc.is_valid(columns["value"]))
            if not pc.all(is_whole).as_py():
                self.odd += pc.sum(pc.invert(is_whole)).as_py()
                columns = {name: column.filter(is_whole) for name, column in columns.items()}
            type_ids = as_numpy(columns["typeId"])
            metric_ids = as_numpy(columns["metricId"])
            values = as_numpy(columns["value"])
            times = self._times(as_numpy(columns["timestamp"]))
            for type_id in np.unique(type_ids).tolist():
                for metric_id in np.unique(metric_ids[type_ids == type_id]).tolist():
                    chosen = (type_ids == type_id) & (metric_ids == metric_id)
                    if (type_id, metric_id) not in self._metric:
                        self.unnamed += int(chosen.sum())
                        continue
                    metric, scale = self._metric[type_id, metric_id]
                    yield self._columns(type_id, metric, times[chosen], values[chosen], scale)

    def _from_json(self, piece: Slice | None) -> Iterator[dict[str, pa.Array]]:
        metric_types = {
            type_id
            for row in rows(self._db, "GENERIC_EVENT_SOURCES", sourceId="int", data="text")
            if '"GpuMetrics"' in str(row["data"]) and isinstance(type_id := row["sourceId"], int)
        }
        kinds: Mapping[str, str] = {
            "rawTimestamp": "int",
            "timestamp": "int",
            "typeId": "int",
            "data": "text",
        }
        series: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
        waiting = 0
        for columns in source_batches(self._db, "GENERIC_EVENTS", kinds, piece):  # type: ignore[arg-type]
            for raw, shifted, type_id, data in zip(
                *(columns[k].to_pylist() for k in kinds), strict=True
            ):
                # The source of a type is its id without the GPU in the low byte.
                if type_id is None or not ({type_id, type_id & ~0xFF} & metric_types):
                    continue
                time = raw if shifted is None else shifted
                for name, text in _fields(data).items() or [("", None)]:
                    value = as_int(text)
                    if value is None or time is None:
                        self.odd += 1
                        continue
                    times, values = series.setdefault((type_id, name), ([], []))
                    times.append(time)
                    values.append(value)
                    waiting += 1
            if waiting >= _ROWS_PER_BATCH:
                yield from self._flushed(series)
                waiting = 0
        yield from self._flushed(series)

    def _flushed(
        self, series: dict[tuple[int, str], tuple[list[int], list[int]]]
    ) -> Iterator[dict[str, pa.Array]]:
        for (type_id, name), (times, values) in sorted(series.items()):
            metric, scale = canonical(name)
            at = self._times(np.array(times, np.int64))
            yield self._columns(type_id, metric, at, np.array(values, np.int64), scale)
        series.clear()

    def _times(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times since the capture began. Exports with normalised times (the shift is then an
        epoch) were seen to leave these unshifted (2023.4): such are told by their size."""
        shift = self._identity.time_shift_ns
        return np.where(np.abs(times) * 2 > abs(shift), times - shift, times)

    def _columns(
        self,
        type_id: int,
        metric: str,
        times: NDArray[np.int64],
        values: NDArray[np.int64],
        scale: float,
    ) -> dict[str, pa.Array]:
        identity = self._identity
        index = gpu_index(type_id)
        gpu = next((row for row in identity.gpus if row["id"] == index), None)
        ordinal = gpu["cuDevice"] if gpu else None
        if metric.endswith("_hz"):
            # 2023.4 writes clocks as signed 32-bit: -1964454041 stands for 2330513255.
            values = values & 0xFFFFFFFF
        scaled = values * scale
        count = len(times)
        return {
            "host": _repeated(identity.facts.host, pa.string(), count),
            "gpu_id": _repeated(gpu_id(gpu, f"gpu:{index}"), pa.string(), count),
            "device_id": _repeated(ordinal, pa.int32(), count),
            "entity": _repeated("gpu", pa.string(), count),
            "entity_id": pa.nulls(count, pa.string()),
            "tick": pa.nulls(count, pa.int64()),
            "ts_ns": pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(times.copy())]),
            "metric": _repeated(metric, pa.string(), count),
            "value": pa.Array.from_buffers(pa.float64(), count, [None, pa.py_buffer(scaled)]),
        }


def _fields(data: str | None) -> dict[str, object]:
    """The fields of a generic event; none when it is not a JSON object."""
    try:
        fields = json.loads(data or "")
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def gpu_id(gpu: Mapping[str, object] | None, otherwise: str) -> str:
    """A stable name of the physical GPU: UUID, else PCI bus id, else the export's own number.

    ``otherwise`` names a GPU that the export does not describe at all.
    """
    if gpu is None:
        return otherwise
    if gpu["uuid"]:
        return str(gpu["uuid"])
    bus = str(gpu["busLocation"] or "")
    if re.fullmatch(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d", bus):
        return bus
    return f"gpu:{gpu['id']}"


def _repeated(value: object, type_: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, type_), count)
