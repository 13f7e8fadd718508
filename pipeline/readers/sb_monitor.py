"""Superbench's monitor: one JSON object per line and sample -> ``gpu_sample``.

Its keys are ``name:GPU``; everything without a GPU (CPU, network) is left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers.foreign_lines import Strays, begins_other, is_of_other
from pipeline.readers.launcher_prefix import without_prefix
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Issue,
    Part,
    Recording,
    row_batches,
)
from pipeline.readers.telemetry import gpu_of_index
from pipeline.readers.text import Skipped, lines

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "superbench-monitor"
SUFFIXES: tuple[str, ...] = ()

_LINE = re.compile(
    r'^\s{0,8}\{"time": ?[^\n]{0,4000}?"gpu_\w{1,60}:\d{1,4}":',
    re.ASCII | re.MULTILINE,
)
_MOST_TRIED = 200
_LONGEST = 4096
_ABSENT = "samples without a value (null)"
_KEY = re.compile(r"(gpu_\w{1,60}):(\d{1,4})", re.ASCII)
# Name -> metric, factor, most. What it counts as ECC errors it does not say: no such name.
_METRICS = {
    "gpu_usage": ("gpu_util_share", 0.01, 100.0),
    "gpu_temperature": ("temperature_celsius", 1.0, 250.0),
    "gpu_power": ("power_w", 1.0, 1e4),
    "gpu_power_limit": ("power_limit_w", 1.0, 1e4),
    "gpu_mem_used": ("fb_used_bytes", 1.0, 1e14),
    "gpu_mem_total": ("fb_total_bytes", 1.0, 1e14),
}


def recognise(head: Head) -> bool:
    """Whether a text has a line of the monitor, be it damaged."""
    text = head.text
    if _LINE.search(text):
        return True
    places = islice(re.finditer(r'\{"time": ?', text), _MOST_TRIED)  # behind a launcher's prefix
    lines_with = (text[text.rfind("\n", 0, at.start()) + 1 :][:_LONGEST] for at in places)
    return any(_LINE.match(without_prefix(line).line) for line in lines_with)


def read(path: Path, name: str = "", pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """The monitor's samples; its times are the host's local ones."""
    facts = Facts(FORMAT, host=hints.host)
    recording = Recording(facts, [])
    skipped, strays = Skipped(), Strays("a line between those of the monitor")
    left_out: Counter[str] = Counter()
    seen = Counter[str]()

    def rows() -> Iterator[dict[str, object]]:
        for number, line in lines(path):
            host = hints.host
            if '{"time"' in line and not line.lstrip().startswith("{"):
                bare = without_prefix(line)
                task = None if bare.task is None else f"task{bare.task}"
                line, host = bare.line, host or bare.host or task
            if not line.lstrip().startswith("{") or ('"gpu_' not in line and '"time"' not in line):
                if line.strip() and begins_other(line, "json"):
                    strays.drop()
                elif line.strip() and not is_of_other(line):
                    strays.hold(number, line)
                continue
            try:
                sample = json.loads(line)
                at = datetime.strptime(sample["time"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
            except (ValueError, TypeError, KeyError, RecursionError):
                skipped.add("not a whole line of the monitor", number, line)
                continue
            if seen:
                strays.tell(skipped)
            strays.drop()
            ns = int(at.timestamp()) * 1_000_000_000
            if facts.capture_start_local_ns is None:
                facts.capture_start_local_ns = ns
            facts.capture_dur_ns = ns - facts.capture_start_local_ns
            for key, value in sample.items():
                row = _row(key, value, left_out)
                if isinstance(row, str):
                    skipped.add(row, number, f"{key}: {value}")
                elif row:
                    seen["rows"] += 1
                    yield {**row, "host": host, "ts_ns": facts.capture_dur_ns}

    def batches() -> Iterator[pa.RecordBatch]:
        yield from row_batches("gpu_sample", rows())
        facts.status_reason = "the monitor does not say where its log ends"
        for issue in skipped.issues():
            recording.report(issue)
        for reason, count in sorted(left_out.items()):
            recording.report(Issue("note", "", reason, "", count))
        if not seen["rows"] and (skipped.count or not left_out[_ABSENT]):
            nothing = "the monitor's lines hold no sample of a GPU"
            recording.refusal = skipped.refusal(nothing, "give the whole file")

    recording.parts = [Part("gpu_sample", batches)]
    return recording


def _row(key: str, value: object, left_out: Counter[str]) -> dict[str, object] | str | None:
    """A sample of a GPU; None for what is none, counted, and why a damaged one is none."""
    found = _KEY.fullmatch(key)
    if not found:
        left_out["values that are no GPU's (time, CPU, network)"] += key != "time"
        return None
    if value is None:
        left_out[_ABSENT] += 1
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{found[1]}: no number"
    metric, factor, most = _METRICS.get(found[1], (found[1], 1.0, 1e18))
    if not 0 <= value <= most:  # NaN neither
        return f"{found[1]}: cannot be"
    index = int(found[2])
    return {
        "gpu_id": gpu_of_index(index),
        "device_id": index,
        "entity": "gpu",
        "metric": metric,
        "value": value * factor,
    }
