"""Values and times of Prometheus samples, from text to numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipeline.readers.telemetry import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VALUE = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NaN|nan|[-+]?Inf(?:inity)?")
# Milliseconds since 1970; seconds, with a fraction, in OpenMetrics. Shorter numbers, from before
# 1973, are no times: they may be the rest of a damaged value.
_TIME = re.compile(rb"(\d{9,14})(?:\.(\d{1,9}))?")
_LEAST_MS = 10**11
_MOST_NS = 2**63


class Sampled(NamedTuple):
    """Samples as columns: text before the value, value, UTC time in ns, number of the scrape."""

    texts: NDArray[np.int64]
    raw: NDArray[np.float64]
    times: NDArray[np.int64]
    scrapes: NDArray[np.int64]


def value_and_time(text: bytes) -> tuple[float, int] | None:
    """What stands behind a series: its value and time (``NO_TIME`` for none); None for neither."""
    if not text[:1].isspace():
        return None
    parts = text.split()
    if len(parts) not in (1, 2) or not _VALUE.fullmatch(parts[0]):
        return None
    time = _time_ns(parts[1]) if len(parts) == 2 else NO_TIME
    return None if time is None else (float(parts[0]), time)


def values_of(
    texts: list[bytes],
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[int]]:
    """Values, times and the places of texts that are neither (their value is NaN)."""
    times = np.full(len(texts), NO_TIME, np.int64)
    # Python reads 1_0 as 10; a value right behind the brace is damage.
    if all(map(_starts_with_space, texts)) and b"_" not in b"".join(texts):
        try:
            return np.array(list(map(float, texts)), np.float64), times, []
        except ValueError:
            pass
    raw = np.empty(len(texts), np.float64)
    bad: list[int] = []
    known_times: dict[bytes, int | None] = {}
    for place, text in enumerate(texts):
        value, *rest = text.split(None, 1) or [b""]
        time: int | None = NO_TIME
        if rest:
            if rest[0] not in known_times:
                known_times[rest[0]] = _time_ns(rest[0].rstrip())
            time = known_times[rest[0]]
        if time is None or not text[:1].isspace() or not _VALUE.fullmatch(value):
            raw[place] = np.nan
            bad.append(place)
        else:
            raw[place] = float(value)
            times[place] = time
    return raw, times, bad


def _starts_with_space(text: bytes) -> bool:
    return text[:1] == b" "


def _time_ns(text: bytes) -> int | None:
    found = _TIME.fullmatch(text)
    if not found:
        return None
    whole = int(found[1])
    if whole >= _LEAST_MS:
        time = whole * 10**6
        return None if found[2] or time >= _MOST_NS else time
    time = whole * 10**9 + int((found[2] or b"").ljust(9, b"0"))
    return time if time < _MOST_NS else None
