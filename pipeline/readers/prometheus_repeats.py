"""Samples told twice: one GPU scraped by two jobs, or listed once per pod that shares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipeline.readers.record import Issue

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BEFORE_ALL = -(2**63)


class Counted:
    """Counts of samples told again, and of those among them that are known to say otherwise."""

    def __init__(self) -> None:
        self.count = 0
        self.differing_count = 0

    def issues(self) -> list[Issue]:
        """How many samples were repeats, and how many of them said something else."""
        if not self.count:
            return []
        problem = "samples of one GPU and moment told more than once; the first is kept"
        if self.differing_count:
            problem += f" ({self.differing_count} with another value)"
        return [Issue("warning" if self.differing_count else "note", "", problem, "", self.count)]


class Repeats(Counted):
    """Keeps the first sample of each series and moment, counts the others.

    For samples that come in the order of time: of earlier batches only the last moment of a
    series is remembered.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last = np.empty(0, np.int64)

    def firsts(
        self, series: NDArray[np.int64], when: NDArray[np.int64], raw: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Whether each sample is the first of its series and moment."""
        if len(self._last) <= series.max(initial=0):
            more = np.full(int(series.max()) + 1 - len(self._last), _BEFORE_ALL)
            self._last = np.concatenate([self._last, more])
        order = np.lexsort((when, series))
        sorted_series, sorted_when, sorted_raw = series[order], when[order], raw[order]
        is_repeat = np.zeros(len(order), np.bool_)
        is_repeat[1:] = (sorted_series[1:] == sorted_series[:-1]) & (
            sorted_when[1:] == sorted_when[:-1]
        )
        differs = np.zeros(len(order), np.bool_)
        differs[1:] = is_repeat[1:] & (sorted_raw[1:] != sorted_raw[:-1])
        is_repeat |= sorted_when == self._last[sorted_series]
        np.maximum.at(self._last, sorted_series, sorted_when)
        self.count += int(np.count_nonzero(is_repeat))
        self.differing_count += int(np.count_nonzero(differs))
        is_first = np.empty(len(order), np.bool_)
        is_first[order] = ~is_repeat
        return is_first
