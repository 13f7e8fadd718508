"""The string table of an Nsight Systems export, and stable ids for the names in it."""

from __future__ import annotations

import hashlib
import re
import threading
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.record import Refused
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
        last = int(all_ids.max())
        if last > 8 * len(all_ids) + 50_000_000 or int(all_ids.min()) < 0:
            raise Refused(f"table StringIds: ids reach {last}", "export the report again")
        # Position 0 stands for ids that the table lacks, and for id 0.
        self._position = np.zeros(last + 1, np.int64)
        self._position[all_ids[1:]] = np.arange(1, len(all_ids))
        self._stable = np.zeros(len(all_ids), np.int64)
        self._has_stable = np.zeros(len(all_ids), bool)
        self._lock = threading.Lock()

    def positions(self, ids: pa.Array) -> NDArray[np.int64]:
        """Positions in ``values``; 0 for ids that are NULL or unknown."""
        raw = pc.fill_null(ids, 0).to_numpy(zero_copy_only=False)
        known = (raw >= 0) & (raw < len(self._position))
        if not known.all():
            raw = np.where(known, raw, 0)
        positions: NDArray[np.int64] = self._position.take(raw)
        return positions

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
    """The function without its ABI version: ``cudaLaunchKernel_v7000`` -> ``cudaLaunchKernel``."""
    return re.sub(r"_v\d{4,5}$", "", recorded)
