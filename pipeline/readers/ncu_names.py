"""Canonical names of metrics: labels of the details page, and units where ncu prints none."""

from __future__ import annotations

import csv
import re
from functools import cache, lru_cache

from pipeline import catalog
from pipeline.readers.ncu_numbers import base_unit, is_known

_RAW_NAME = re.compile(r"[A-Za-z][\w:.%$/<>*-]*")
# --print-metric-name label-name (since 2022.4): DRAM Frequency (dram__cycles_elapsed.avg).
_BOTH = re.compile(r"(.*\S) \(([A-Za-z]\w*(?::[\w.]+)?__?[\w.:]+)\)")

_LONGEST_NAME = 500


@cache
def _reference() -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    metrics: dict[tuple[str, str], str] = {}
    units: dict[str, str] = {}
    with catalog.reference()["ncu_metric"].open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["label"]:
                metrics[row["section"], row["label"]] = row["metric"]
            units[row["metric"]] = row["base_unit"]
    return metrics, units


@lru_cache(65_536)
def named(section: str | None, printed: str) -> tuple[str | None, str | None]:
    """What is printed as a metric's name -> (label, canonical raw name); None if not known."""
    if len(printed) < _LONGEST_NAME and (both := _BOTH.fullmatch(printed)):
        return both[1], both[2]
    if "__" in printed and _RAW_NAME.fullmatch(printed):
        return None, printed
    metric = _reference()[0].get((section or "", printed))
    if metric is None and (section is None or section == "Command line profiler metrics"):
        # Metrics asked for by name; a few have no double underscore (inst_executed).
        return None, printed
    return printed, metric


@lru_cache(65_536)
def unit_of(metric: str | None, printed: str) -> tuple[str | None, int, bool, str | None]:
    """The unit of a metric -> (base unit, power of ten to it, whether it is assumed, or unknown).

    Of a unit that is not known only the text can be kept, and no number in a base unit.

    ncu leaves all units out when it prints the report of a newer version (2024.1 on 2025.2).
    """
    if printed:
        base, power = base_unit(printed)
        return (base, power, False, None) if is_known(base) else (None, 0, False, printed)
    assumed = _reference()[1].get(metric or "")
    return (assumed, 0, True, None) if assumed else (None, 0, False, None)
