"""When the rows of a dmon log were sampled, as far as the log or its user says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipeline.readers.dcgm_dmon_lines import Stamp
from pipeline.readers.telemetry import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HALF_A_DAY = 43_200 * 1_000_000_000


class Clock:
    """Times of rows since the first stamp; without stamps, rounds times the interval.

    The first row decides whether the log has stamps and whose clock they show; a row without a
    stamp, or with one of another clock, then has no time.
    """

    def __init__(self, asked_ns: int | None = None, named_ns: int | None = None) -> None:
        self._asked_ns = asked_ns
        self._interval_ns = asked_ns or named_ns
        self.kind: str | None = None  # of Stamp.clock; "" for a log without stamps
        self.zero_ns = 0
        self.last_ns = 0
        self.odd = 0  # rows whose time cannot be told
        self.is_broken = False  # rounds that are not evenly spaced any more
        self._days_ns = 0

    @property
    def interval_ns(self) -> int | None:
        """The sampling interval, None where nothing says it."""
        return self._interval_ns

    def command_says(self, interval_ns: int | None) -> None:
        """Takes the interval in a command that the log quotes; the user's own word goes first."""
        if interval_ns and not self._asked_ns:
            self._interval_ns = interval_ns

    def break_off(self) -> None:
        """Another capture begins in the same log, nobody knows when."""
        self.is_broken = self.kind == ""

    def is_plain(self, stamp: Stamp) -> bool:
        """Whether a stamp's time depends on itself alone, not on those before it."""
        return stamp.clock in ("utc", "local")

    def time_of(self, stamp: Stamp | None) -> int:
        """The time of a row in ns since the first; ``NO_TIME`` if it cannot be told."""
        if self.kind is None:
            self.kind = stamp.clock if stamp else ""
            self.zero_ns = stamp.ns if stamp else 0
        if not self.kind:
            return NO_TIME
        if stamp is None or stamp.clock != self.kind:
            self.odd += 1
            return NO_TIME
        ns = stamp.ns - self.zero_ns + self._days_ns
        if not self.is_plain(stamp) and ns < self.last_ns - _HALF_A_DAY:
            if stamp.clock == "date":  # a new year, of a year that is not said
                self.odd += 1
                return NO_TIME
            self._days_ns += 2 * _HALF_A_DAY
            ns += 2 * _HALF_A_DAY
        if not -(1 << 62) < ns < 1 << 62:
            self.odd += 1
            return NO_TIME
        self.last_ns = max(self.last_ns, ns)
        return ns

    def columns(
        self, ns: NDArray[np.int64], ticks: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
        """``ts_ns`` and ``tick`` of rows."""
        if self.kind:
            return ns, None
        if not self._interval_ns or self.is_broken:
            return None, ticks
        self.last_ns = int(ticks.max(initial=0)) * self._interval_ns
        return ticks * self._interval_ns, ticks
