"""NVTX payloads of an Nsight Systems export, decoded as far as they are NCCL's.

A program describes a payload by a *schema*: a list of entries with a name, a type and a place.
NCCL's are told by the names of their entries. The values lie with the range, in one of two
forms, neither of which is exported unless asked for:

- binaryData (``--include-blobs``): 64-bit little-endian domain, schema, size and offset of the
  payload, then the payload, a C struct;
- jsonText or jsonTextId (``--include-json``): one JSON object, entry name -> value, where a
  number may be a text with commas between its thousands.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.nsys_payload_schema import (
    COMMUNICATOR,
    COMMUNICATOR_NAME,
    PARENT,
    REDUCTION,
    TARGETS,
    TELLING,
    Schema,
    is_nccl,
    read_enums,
    read_schemas,
    reduction_name,
)
from pipeline.readers.sqlite_pages import Kind, SqliteFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LIMITS = {
    name: (1 << 63) - 1 if name == "message_bytes" else (1 << 31) - 1
    for name in dict.fromkeys(TARGETS.values())
    if name not in (COMMUNICATOR, PARENT, REDUCTION)
}
# ncclRedOp_t as NCCL's own enumeration names it, for exports without that (seen in 2026.2).
_REDUCTIONS = {0: "Sum", 1: "Product", 2: "Max", 3: "Min", 4: "Avg"}

_HEADER = 32


@dataclass
class Tally:
    """Payloads that could not be read, by reason, and single values that could not."""

    unread: Counter[str] = field(default_factory=Counter)
    odd_values: int = 0
    unnamed_reductions: int = 0


class Values:
    """What the payloads of ``count`` ranges say; ``is_call`` where there is one of NCCL's."""

    def __init__(self, count: int) -> None:
        self.is_call = np.zeros(count, np.bool_)
        # 0 and -1 stand for what is not told.
        self.ids = {name: np.zeros(count, np.uint64) for name in (COMMUNICATOR, PARENT)}
        self.numbers = {name: np.full(count, -1, np.int64) for name in _LIMITS}
        self.reduction: NDArray[np.object_] = np.full(count, None, np.object_)

    def put(self, target: str, at: NDArray[np.int64], values: NDArray[np.int64 | np.uint64]) -> int:
        """Values of one entry at these ranges; returns how many were too large. Negative ones
        stand for what is not there (a root of -1)."""
        if target in self.ids:
            self.ids[target][at] = values.astype(np.uint64)
            return 0
        is_there = values >= 0
        fits = is_there & (values <= _LIMITS[target])
        self.numbers[target][at[fits]] = values[fits].astype(np.int64)
        return int((is_there & ~fits).sum())


class Payloads:
    """The schemas of one export. ``columns`` are those of NVTX_EVENTS that must be read for the
    payloads: none where no schema is NCCL's."""

    def __init__(self, db: SqliteFile, is_json_included: bool) -> None:
        self._enums = read_enums(db)
        self._schemas = read_schemas(db, self._enums)
        # Domain numbers are a process's own, but schemas don't say whose they are.
        self._domains = {domain for (domain, _), s in self._schemas.items() if s.is_nccl}
        wanted: dict[str, Kind] = {}
        if self._domains:
            wanted["binaryData"] = "bytes"
        if self._domains or is_json_included:
            wanted |= {"jsonText": "text", "jsonTextId": "int"}
        present = {column.name for column in db.tables.get("NVTX_EVENTS", ())}
        self.columns = {name: kind for name, kind in wanted.items() if name in present}

    @property
    def are_described(self) -> bool:
        """Whether the export says how NCCL's payloads look."""
        return bool(self._domains)

    def decode(
        self, blobs: pa.Array, texts: pa.Array, domains: NDArray[np.int64], tally: Tally
    ) -> Values:
        """``blobs`` (binary) and ``texts`` (JSON) of ranges in these domains, NULL where a range
        has none. A blob counts before a text."""
        values = Values(len(domains))
        has_blob = pc.is_valid(blobs)
        at = np.flatnonzero(has_blob.to_numpy(zero_copy_only=False))
        if len(at):
            self._decode_blobs(blobs.filter(has_blob), at, domains[at], values, tally)
        has_text = pc.and_not(pc.is_valid(texts), has_blob)
        at = np.flatnonzero(has_text.to_numpy(zero_copy_only=False))
        if len(at):
            self._decode_texts(texts.filter(has_text), at, values, tally)
        return values

    def _decode_blobs(
        self,
        blobs: pa.Array,
        at: NDArray[np.int64],
        domains: NDArray[np.int64],
        values: Values,
        tally: Tally,
    ) -> None:
        starts, data = _binary(blobs)
        lengths = np.diff(starts)
        starts = starts[:-1]
        is_ours = np.isin(domains, list(self._domains))
        has_header = lengths >= _HEADER
        tally.unread["too short"] += int((is_ours & ~has_header).sum())
        whole = np.flatnonzero(has_header)
        header = _gather(data, starts[whole], "<u8", 4)
        said, number, size, offset = (header[:, i] for i in range(4))
        room = lengths[whole].astype(np.uint64)
        fits = (offset >= _HEADER) & (offset <= room) & (size <= room - np.minimum(offset, room))
        for domain, schema_id in np.unique(header[:, :2], axis=0).tolist():
            key = _signed(domain), _signed(schema_id)
            schema = self._schemas.get(key)
            chosen = (said == domain) & (number == schema_id)
            if schema is None:  # may be another library's whose schemas are not told
                chosen &= is_ours[whole]
            elif not schema.is_nccl:
                continue
            mine = domains[whole] == key[0]
            tally.unread["of another domain than the range"] += int((chosen & ~mine).sum())
            chosen &= mine
            if schema is None or not schema.is_clear:
                tally.unread["of an unknown schema"] += int(chosen.sum())
                continue
            long_enough = fits & (size >= schema.size)
            tally.unread["too short"] += int((chosen & ~long_enough).sum())
            some = np.flatnonzero(chosen & long_enough)
            begin = starts[whole[some]] + offset[some].astype(np.int64)
            self._take(key[0], schema, data, begin, at[whole[some]], values, tally)

    def _take(
        self,
        domain: int,
        schema: Schema,
        data: NDArray[np.uint8],
        begin: NDArray[np.int64],
        at: NDArray[np.int64],
        values: Values,
        tally: Tally,
    ) -> None:
        """The values of payloads of one schema, which begin at these bytes of ``data``."""
        values.is_call[at] = True
        for entry in schema.entries:
            found = _gather(data, begin + entry.offset, f"<{entry.dtype}", 1)[:, 0]
            if entry.target == REDUCTION:
                names = self._enums.names.get((domain, entry.enum), _REDUCTIONS)
                for code in np.unique(found).tolist():
                    is_code = found == code
                    values.reduction[at[is_code]] = names.get(code)
                    if names.get(code) is None:
                        tally.unnamed_reductions += int(is_code.sum())
            else:
                tally.odd_values += values.put(entry.target, at, found)

    def _decode_texts(
        self, texts: pa.Array, at: NDArray[np.int64], values: Values, tally: Tally
    ) -> None:
        encoded = texts.dictionary_encode()  # the same few texts come again and again
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        for code, text in enumerate(encoded.dictionary.to_pylist()):
            if not any(name in text for name in (COMMUNICATOR_NAME, *TELLING)):
                continue
            some = at[codes == code]
            try:
                payload = json.loads(text)
            except (ValueError, RecursionError):
                tally.unread["no JSON"] += len(some)
                continue
            if isinstance(payload, dict) and is_nccl(payload):
                _take_json(payload, some, values, tally)


def _take_json(
    payload: Mapping[str, object], at: NDArray[np.int64], values: Values, tally: Tally
) -> None:
    values.is_call[at] = True
    for name, value in payload.items():
        target = TARGETS.get(name)
        if target is None or value is None:
            continue
        number = _number(value)
        if target == REDUCTION:
            name_of_it = reduction_name(value) or _REDUCTIONS.get(-1 if number is None else number)
            values.reduction[at] = name_of_it
            tally.unnamed_reductions += 0 if name_of_it else len(at)
        elif number is None or not -(1 << 63) <= number < 1 << 64:
            tally.odd_values += len(at)
        else:
            dtype = np.int64 if number < 1 << 63 else np.uint64
            tally.odd_values += values.put(target, at, np.full(len(at), number, dtype))


def _number(value: object) -> int | None:
    """A whole number of JSON, or of a text such as ``18,446,744,073,709,551,615``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    if re.fullmatch(r"-?(\d{1,3}(,\d{3}){1,6}|\d{1,20})", text, re.ASCII):
        return int(text.replace(",", ""))
    return int(text, 16) if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", text) else None


def _binary(blobs: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each value of a binary column without NULLs begins, one more, and all bytes."""
    _, offsets, content = blobs.buffers()
    starts = np.frombuffer(offsets, np.int32)[blobs.offset : blobs.offset + len(blobs) + 1]
    data = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    return starts.astype(np.int64), data


def _gather(
    data: NDArray[np.uint8], at: NDArray[np.int64], dtype: str, count: int
) -> NDArray[np.int64 | np.uint64]:
    """``count`` neighbouring numbers from each of these bytes on, one row each."""
    width = np.dtype(dtype).itemsize * count
    raw = data[at[:, None] + np.arange(width)]
    numbers: NDArray[np.int64 | np.uint64] = raw.view(dtype).reshape(-1, count)
    return numbers.astype(np.uint64 if dtype[1] == "u" else np.int64)


def _signed(number: int) -> int:
    """An unsigned number as SQLite keeps it."""
    return number - (1 << 64) if number >= 1 << 63 else number
