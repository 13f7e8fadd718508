"""Units that nvidia-smi writes in headers and cells, and what they make of a metric."""

from __future__ import annotations

from dataclasses import replace

from pipeline.readers.telemetry import Metric

# Unit -> (how names of metrics in its base unit end, factor to the base unit).
_UNITS = {
    "%": ("_share", 0.01),
    "W": ("_w", 1.0),
    "mW": ("_w", 0.001),
    "C": ("_celsius", 1.0),
    "MHz": ("_hz", 1e6),
    "B": ("_bytes", 1.0),
    "KiB": ("_bytes", 2.0**10),
    "MiB": ("_bytes", 2.0**20),
    "GiB": ("_bytes", 2.0**30),
    "MB": ("_bytes", 2.0**20),  # dmon's fb and bar1: MiB, though it says MB
    "KB/s": ("_bytes_per_s", 1e3),
    "MB/s": ("_bytes_per_s", 1e6),
    "us": ("_ns", 1e3),
    "ms": ("_ns", 1e6),
    "errs": ("_count", 1.0),
}


def in_unit(metric: Metric, unit: str) -> Metric | None:
    """The metric as told in ``unit``; None when it cannot be in that unit.

    A metric that the reference table lacks takes the ending of the unit.
    """
    if unit not in _UNITS:
        return None
    ending, factor = _UNITS[unit]
    if not metric.is_known:
        return replace(metric, name=metric.name + ending, scale=factor, is_known=True)
    return replace(metric, scale=factor) if metric.name.endswith(ending) else None
