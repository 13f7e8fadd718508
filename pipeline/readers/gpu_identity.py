"""How a GPU is named, whatever tool names it, and the GPUs that a file describes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.readers.record import Part, row_batches

if TYPE_CHECKING:
    import pyarrow as pa

_BUS_ID = re.compile(r"(?:0x)?([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)


def plain_uuid(text: str) -> str | None:
    """A GPU's UUID without ``GPU-``; None where there is none.

    A UUID of zeros alone was put there to hide the real one: GPUs of a host may share it.
    """
    plain = text.strip().removeprefix("GPU-")
    return plain if plain.strip("0-") else None


def plain_bus_id(text: str) -> str | None:
    """A PCI bus id as ``0000:1b:00.0``; None where the text is none.

    nvidia-smi and DCGM write the domain with eight digits and the letters large.
    """
    found = _BUS_ID.fullmatch(text.strip())
    if not found:
        return None
    return f"{int(found[1], 16):04x}:{found[2]}:{found[3]}.{found[4]}".lower()


class Devices:
    """The GPUs that a file describes, for table ``device``: one row per GPU, without process."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, object]] = {}

    def describe(self, gpu_id: str, device_id: int | None, **known: object) -> None:
        """Adds what a file says of a GPU; what was said of it first stays."""
        if not any(value is not None for value in known.values()):
            return
        row = self._rows.setdefault(gpu_id, {"gpu_id": gpu_id, "device_id": device_id})
        for column, value in known.items():
            if row.get(column) is None:
                row[column] = value

    def part(self) -> Part:
        """The rows, to be read when the whole file has been."""

        def batches() -> Iterator[pa.RecordBatch]:
            return row_batches("device", (self._rows[gpu_id] for gpu_id in sorted(self._rows)))

        return Part("device", batches)
