"""Columns and cells of ``nvidia-smi --query-gpu``: which metric, which number, which non-value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.readers import telemetry
from pipeline.readers.smi_units import in_unit
from pipeline.readers.telemetry import Metric

_HEADER_CELL = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)(?: ?\[([^\]]*)\])?")
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(?: ?([A-Za-z%][A-Za-z/]*))?", re.ASCII)
_MASK = re.compile(r"0x[0-9a-f]{1,16}", re.IGNORECASE)
_PSTATE = re.compile(r"P(\d{1,2})", re.ASCII)
_TIME = re.compile(r"\d{4}[/-]\d\d[/-]\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?", re.ASCII)
_WORDS = {"active": 1, "not active": 0, "enabled": 1, "disabled": 0, "yes": 1, "no": 0}
# Besides those, what stands in square brackets is a remark: [N/A], [Not Supported],
# [Requested functionality has been deprecated], [Function Not Found], [Unknown Error].
_NON_VALUES = frozenset(("", "-", "n/a", "not supported", "unknown error", "err!", "gpu is lost"))
# Columns that say which GPU a row is of, and what it is.
IDENTITY = frozenset(
    (
        "timestamp",
        "index",
        "count",
        "name",
        "gpu_name",
        "uuid",
        "gpu_uuid",
        "pci.bus_id",
        "gpu_bus_id",
        "hostname",
        "driver_version",
        "kmd_version",
        "compute_cap",
        "serial",
        "gpu_serial",
        "vbios_version",
        "pci.domain",
        "pci.bus",
        "pci.device",
        "pci.device_id",
        "pci.sub_device_id",
        "pci.baseclass",
        "pci.subclass",
    )
)


@dataclass(frozen=True)
class Column:
    """A column: its name in small letters, the unit in its header, and the metric if it is one."""

    name: str
    unit: str | None
    metric: Metric | None


def columns_of(line: str) -> list[Column]:
    """The columns of a header line; none when the line is not one."""
    columns = []
    for cell in line.split(","):
        found = _HEADER_CELL.fullmatch(cell.strip())
        if not found:
            return []
        columns.append(_column(found[1].lower(), found[2]))
    # A name such as pstate alone could be a column of anything.
    telling = (
        (column.unit or "." in column.name) and telemetry.by_smi_query(column.name).is_known
        for column in columns
    )
    return columns if any(telling) else []


def _column(name: str, unit: str | None) -> Column:
    if name in IDENTITY:
        return Column(name, unit, None)
    metric: Metric | None = telemetry.by_smi_query(name)
    assert metric is not None
    if unit:
        metric = in_unit(metric, unit)
    elif not metric.is_known:
        metric = None
    return Column(name, unit, metric)


def is_time(cell: str) -> bool:
    """Whether a cell is a time as nvidia-smi writes it."""
    return bool(_TIME.fullmatch(cell))


def non_value(cell: str) -> str | None:
    """What the cell says instead of a value; None when it says a value."""
    if cell.startswith("[") and cell.endswith("]"):
        return cell[1:-1].strip()
    return (cell or "empty") if cell.lower() in _NON_VALUES else None


def has_whole_end(cell: str, column: Column) -> bool:
    """Whether a cell at the torn end of a file is certainly whole: it ends in its unit."""
    found = _NUMBER.fullmatch(cell)
    return cell.endswith("]") or bool(found and column.unit and found[2] == column.unit)


def looks_like_row(cells: list[str], width: int) -> bool:
    """Whether a line may be a row of a table ``width`` wide, perhaps a damaged one."""
    if 2 * len(cells) < width:
        return False
    if is_time(cells[0].strip()):
        return True
    return 2 * sum(looks_like_value(cell.strip()) for cell in cells) >= len(cells)


def has_unit(cell: str) -> bool:
    """Whether a cell is a number with one of the units that nvidia-smi writes."""
    found = _NUMBER.fullmatch(cell)
    return bool(found) and found[2] in ("%", "W", "MiB", "MHz")  # type: ignore[index]


def looks_like_value(cell: str) -> bool:
    """Whether a cell is what nvidia-smi writes in one: a number, a word, a remark, an id."""
    return bool(
        (cell and non_value(cell))
        or _NUMBER.fullmatch(cell)
        or _MASK.fullmatch(cell)
        or _PSTATE.fullmatch(cell)
        or cell.lower() in _WORDS
        or cell.startswith("GPU-")
        or is_time(cell)
    )


def number(cell: str, column: Column) -> tuple[Metric, float]:
    """A cell's metric (with the scale of its unit) and number.

    Raises :class:`ValueError` when the cell is no number of this column.
    """
    metric = column.metric
    assert metric is not None
    if found := _NUMBER.fullmatch(cell):
        unit = found[2]
        if unit is None or unit == column.unit:
            return metric, float(found[1])
        in_own = in_unit(metric, unit) if column.unit is None else None
        if in_own is not None:
            return in_own, float(found[1])
    elif metric.kind == "mask" and _MASK.fullmatch(cell):
        return metric, float(int(cell, 16))
    elif metric.kind == "state" and cell.lower() in _WORDS:
        return metric, float(_WORDS[cell.lower()])
    elif metric.name == "pstate" and (found := _PSTATE.fullmatch(cell)):
        return metric, float(found[1])
    raise ValueError(cell)
