"""The string table of an Nsight Systems export, and stable ids for the names in it."""

from __future__ import annotations

import hashlib
import re
import threading
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.sqlite_pages import SqliteFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Whole environment blocks lie in the string table, up to 111 kB each; no name is that long.
_LONGEST_NAME = 32_768
_UNKNOWN = "[Unknown]"


def stable_id(name: str) -> int:
    """The same name has the same id in every file: 8 bytes of SHA-256, signed."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little", signed=True)


class Names:
    """``StringIds`` in memory, looked up by whole columns of ids."""

    def __init__(self, db: SqliteFile) -> None:
        ids: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        values: list[pa.Array] = [pa.array([_UNKNOWN])]
        for batch in db.batches("StringIds", {"id": "int", "value": "text"}):
            text = batch.column(1)
            fits = pc.fill_null(pc.less_equal(pc.binary_length(text), _LONGEST_NAME), False)
            fits = pc.and_(fits, pc.is_valid(batch.column(0)))
            ids.append(batch.column(0).filter(fits).to_numpy(zero_copy_only=False))
            values.append(text.filter(fits))
        all_ids = np.concatenate(ids)
        self.values: pa.Array = pa.concat_arrays(values)
        # Position 0 stands for ids that the table lacks.
        self._order = np.argsort(all_ids[1:], kind="stable") + 1
        self._sorted = all_ids[self._order]
        # Ids are 0, 1, 2 ... in nearly every export: then an id is looked up, not searched.
        last = int(self._sorted[-1]) if len(self._sorted) else -1
        is_dense = bool(len(self._sorted)) and self._sorted[0] >= 0 and last < 8 * len(all_ids)
        self._table = np.zeros(last + 1 if is_dense else 0, np.int64)
        if is_dense:
            self._table[self._sorted] = self._order
        self._stable = np.zeros(len(all_ids), np.int64)
        self._has_stable = np.zeros(len(all_ids), bool)
        self._lock = threading.Lock()

    def positions(self, ids: pa.Array) -> NDArray[np.int64]:
        """Positions in ``values``; 0 for ids that are NULL or unknown."""
        raw = pc.fill_null(ids, 0).to_numpy(zero_copy_only=False)
        positions: NDArray[np.int64]
        if len(self._table):
            known = (raw >= 0) & (raw < len(self._table))
            positions = self._table.take(np.where(known, raw, 0))
        elif len(self._sorted):
            found = np.searchsorted(self._sorted, raw).clip(max=len(self._sorted) - 1)
            known = self._sorted.take(found) == raw
            positions = self._order.take(found)
        else:
            return np.zeros(len(raw), np.int64)
        return np.where(known, positions, 0) if not known.all() else positions

    def text(self, ids: pa.Array) -> pa.Array:
        """The strings behind a column of ids; NULL stays NULL."""
        positions = pa.py_buffer(self.positions(ids))
        found = self.values.take(pa.Array.from_buffers(pa.int64(), len(ids), [None, positions]))
        return pc.if_else(pc.is_valid(ids), found, pa.scalar(None, pa.string()))

    def stable_ids(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Stable ids of the strings at these positions."""
        if not self._has_stable.take(positions).all():
            with self._lock:
                for position in np.unique(positions[~self._has_stable.take(positions)]).tolist():
                    self._stable[position] = stable_id(self.values[position].as_py())
                    self._has_stable[position] = True
        return self._stable.take(positions)


def api_name(recorded: str) -> str:
    """The function as ``nsys stats`` prints it: without a four-digit ABI version.

    ``cudaLaunchKernel_v7000`` -> ``cudaLaunchKernel``, but ``cudaLaunchKernelExC_v11060`` stays.
    """
    return re.sub(r"_v\d{4}$", "", recorded)
