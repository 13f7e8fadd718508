"""Samples of one series told by several of Prometheus' (two jobs, a pod after another)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipeline.readers.prometheus_repeats import Counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_PIECES = 64


class Moments(Counted):
    """Keeps the first sample of each series and moment, counts the others.

    Series come whole, one after the other, so all their moments are remembered: 8 bytes each,
    and once for all series of one grid, as those of a range query are.
    """

    def __init__(self) -> None:
        super().__init__()
        self._grids: dict[bytes, NDArray[np.int64]] = {}
        self._known: dict[int, list[NDArray[np.int64]]] = {}
        self._latest: dict[int, int] = {}

    def firsts(
        self, series: int, times: NDArray[np.int64], raw: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Whether each sample is the first of its moment in the series."""
        _, places = np.unique(times, return_index=True)
        is_first = np.zeros(len(times), np.bool_)
        is_first[places] = True
        if not len(times):
            return is_first
        known = self._known.setdefault(series, [])
        if known and times.min() <= self._latest[series]:
            is_first &= ~np.isin(times, np.concatenate(known))
        self.count += len(times) - int(np.count_nonzero(is_first))
        new = times[is_first]
        if len(new):
            known.append(self._grids.setdefault(new.tobytes(), new))
            self._latest[series] = max(self._latest.get(series, int(new.max())), int(new.max()))
            if len(known) > _MOST_PIECES:
                known[:] = [np.concatenate(known)]
        return is_first
