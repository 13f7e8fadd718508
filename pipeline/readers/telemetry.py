"""What telemetry tools call a GPU's metrics, what their non-values look like, ``gpu_sample`` rows.

The names, units and ranges are the reference table gpu_metric; every look-up gives the same
canonical :class:`Metric`, whichever tool, version or alias it starts from.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pipeline import catalog

if TYPE_CHECKING:
    from numpy.typing import NDArray

# dcgm_structs.h. The int64 blanks (2^63 - 16 and on) become 2^63 as floats, and scaled ones grow
# further: nothing that is measured is so large. Those of 32 bits and of floating point lie where
# byte counters and nanoseconds pass through: only they themselves are none.
_BLANK_INT64 = 2.0**63 - 2048
_BLANKS = np.array(
    [
        blank * scale
        for blank in [*range(2147483632, 2147483636), *range(140737488355328, 140737488355332)]
        for scale in ((1, 100) if blank > 1 << 40 else (1,))
    ],
    np.float64,
)
BLANK = "no data (a blank value of DCGM)"
_BLANK_TEXTS = frozenset(
    ("", "N/A", "<<<NULL>>>", "<<<NOT_FOUND>>>", "<<<NOT_SUPPORTED>>>", "<<<NOT_PERM>>>")
)


@dataclass(frozen=True)
class Metric:
    """A canonical metric as one tool's field tells it.

    A raw value times ``scale`` is in the unit that ``name`` ends in; then ``least`` to ``most``
    hold every value that can be. ``link`` is the NVLink that the field is about, None for the
    whole GPU. A field that the reference table lacks keeps its own name, without a unit
    (``is_known`` is False).
    """

    name: str
    kind: str
    scale: float = 1.0
    least: float = -math.inf
    most: float = math.inf
    link: int | None = None
    is_known: bool = True


# -- names -> metrics ----------------------------------------------------------------------


def by_dcgm_short(name: str) -> Metric:
    """The metric of a column of ``dcgmi dmon`` (``SMCLK``), of any version."""
    return _found("dcgm_short_name", name.upper()) or _unknown(f"dcgm_{name}")


def by_dcgm_id(field_id: int) -> Metric:
    """The metric of a DCGM field id; those of 700 to 899 were re-used, so they tell nothing."""
    return _found("dcgm_id", str(field_id)) or _unknown(f"dcgm_{field_id}")


def by_exporter_name(name: str) -> Metric:
    """The metric of a dcgm-exporter name, which is DCGM's macro before or since 4.6."""
    for column in ("dcgm_macro", "dcgm_macro_old", "exporter_name"):
        found = _found(column, name.upper())
        if found:
            return found
    return _unknown(name)


def by_smi_query(column: str) -> Metric:
    """The metric of a column of ``nvidia-smi --query-gpu``, with or without ``[unit]``."""
    plain = column.partition("[")[0].strip().lower()
    return _found("nvidia_smi_query", plain) or _unknown(f"nvidia_smi_{plain}")


def by_smi_dmon(column: str) -> Metric:
    """The metric of a column of ``nvidia-smi dmon``."""
    plain = column.strip().lower()
    return _found("nvidia_smi_dmon", plain) or _unknown(f"nvidia_smi_dmon_{plain}")


_SCALES = {
    "dcgm_short_name": "dcgm_scale",
    "dcgm_id": "dcgm_scale",
    "dcgm_macro": "dcgm_scale",
    "dcgm_macro_old": "dcgm_scale",
    "exporter_name": "dcgm_scale",
    "nvidia_smi_query": "nvidia_smi_scale",
    "nvidia_smi_dmon": "nvidia_smi_scale",
    "nsys_name": "nsys_scale",
}


def _unknown(name: str) -> Metric:
    return Metric(re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"), "", is_known=False)


def _found(column: str, name: str) -> Metric | None:
    known = names(column)
    metric = known.get(name)
    if metric is None and "#" not in name:
        # A field per NVLink: NFEL3, DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L3.
        for number in re.finditer(r"(?<![0-9])[0-9]{1,2}(?![0-9])", name):
            metric = known.get(f"{name[: number.start()]}#{name[number.end() :]}")
            if metric is not None:
                return replace(metric, link=int(number[0]))
    return metric


@cache
def names(column: str) -> dict[str, Metric]:
    """Every name that ``column`` of the reference table lists; ``#`` stands for a link."""
    with catalog.reference()["gpu_metric"].open(encoding="utf-8", newline="") as file:
        return {
            name: Metric(
                row["metric"],
                row["kind"],
                float(row[_SCALES[column]]),
                float(row["least_value"] or -math.inf),
                float(row["most_value"] or math.inf),
            )
            for row in csv.DictReader(file)
            for name in row[column].split("|")
            if name
        }


# -- values --------------------------------------------------------------------------------


def is_blank_text(cell: str) -> bool:
    """Whether a cell is one of the texts that DCGM writes for a value it lacks."""
    return cell.strip() in _BLANK_TEXTS


def clean(metric: Metric, raw: NDArray[np.float64]) -> tuple[NDArray[np.float64], dict[str, int]]:
    """Raw values in the metric's base unit, NaN for each that is none, and why, counted.

    NaN in ``raw`` stays NaN and is not counted: whoever put it there knows why.
    """
    with np.errstate(all="ignore"):
        # 83 / 100 is 0.83, 83 * 0.01 is not.
        values = raw * metric.scale if metric.scale >= 1 else raw / round(1 / metric.scale)
        reasons: dict[str, int] = {}
        if (raw >= _BLANKS[0]).any():
            is_blank = (raw >= _BLANK_INT64) | np.isin(raw, _BLANKS)
            _leave_out(values, is_blank, BLANK, reasons)
        # Scaling rounds: 100 times 0.01 must not be above 1.
        least, most = metric.least - abs(metric.least) * 1e-12, metric.most * (1 + 1e-12)
        outside = (values < least) | (values > most) | np.isinf(values)
        _leave_out(values, outside, _outside(metric), reasons)
    return values, reasons


def _outside(metric: Metric) -> str:
    if math.isinf(metric.most):
        return f"{metric.name} cannot be below {metric.least:g}"
    return f"{metric.name} cannot be outside {metric.least:g} to {metric.most:g}"


def _leave_out(
    values: NDArray[np.float64], chosen: NDArray[np.bool_], reason: str, reasons: dict[str, int]
) -> None:
    count = int(np.count_nonzero(chosen))
    if count:
        values[chosen] = np.nan
        reasons[reason] = count


# -- rows ----------------------------------------------------------------------------------


def gpu_of_index(index: int) -> str:
    """How a GPU is named of which only its index on its host is known."""
    return f"gpu:{index}"


@dataclass(frozen=True)
class Coded:
    """A text per row as a code into ``names``; -1 for none."""

    codes: NDArray[np.int32]
    names: Sequence[str]


# In times that are given row by row: not known.
NO_TIME = int(np.iinfo(np.int64).min)

Texts = str | Coded | None


def sample_batch(
    host: Texts,
    gpu_id: Texts,
    device_id: int | NDArray[np.int64] | None,
    entity: Texts,
    entity_id: Texts,
    ts_ns: int | NDArray[np.int64] | None,
    tick: int | NDArray[np.int64] | None,
    metric: Texts,
    value: NDArray[np.float64],
) -> pa.RecordBatch:
    """Rows of ``gpu_sample``, one per value that is not NaN, texts dictionary-encoded.

    What is the same for all rows may be given once; -1 as a ``device_id`` and
    ``NO_TIME`` are NULL.
    """
    is_kept = ~np.isnan(value)
    kept = None if is_kept.all() else is_kept
    columns = {
        "host": _texts(host, kept, len(value)),
        "gpu_id": _texts(gpu_id, kept, len(value)),
        "device_id": _numbers(device_id, kept, len(value), pa.int32()),
        "entity": _texts(entity, kept, len(value)),
        "entity_id": _texts(entity_id, kept, len(value)),
        "ts_ns": _numbers(ts_ns, kept, len(value), pa.int64()),
        "tick": _numbers(tick, kept, len(value), pa.int64()),
        "metric": _texts(metric, kept, len(value)),
        "value": pa.array(value if kept is None else value[kept]),
    }
    order = catalog.arrow_schemas()["gpu_sample"].names
    return pa.RecordBatch.from_arrays([columns[name] for name in order], names=order)


def _texts(texts: Texts, kept: NDArray[np.bool_] | None, count: int) -> pa.Array:
    if not isinstance(texts, Coded):
        texts = Coded(np.full(count, -1 if texts is None else 0, np.int32), [texts or ""])
    codes = texts.codes if kept is None else texts.codes[kept]
    indices = pa.array(codes, pa.int32(), mask=codes < 0 if (codes < 0).any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts.names, pa.string()))


def _numbers(
    numbers: int | NDArray[np.int64] | None,
    kept: NDArray[np.bool_] | None,
    count: int,
    type_: pa.DataType,
) -> pa.Array:
    if kept is not None:
        count = int(np.count_nonzero(kept))
    if not isinstance(numbers, np.ndarray):
        return pa.repeat(pa.scalar(numbers, type_), count)
    if kept is not None:
        numbers = numbers[kept]
    is_none = numbers < 0 if type_ == pa.int32() else numbers == NO_TIME
    return pa.array(numbers, type_, mask=is_none if is_none.any() else None)
