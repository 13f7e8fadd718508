"""How NVTX payloads look: the schemas and enumerations that an Nsight Systems export describes.

A schema is a list of entries, each with a name, a type and a place in a C struct (or none: then
where C would put it). NCCL's schemas are told by the names of their entries.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipeline.readers.nsys_identity import Row, as_int, rows
from pipeline.readers.sqlite_pages import SqliteFile

COMMUNICATOR, PARENT, REDUCTION = "communicator_id", "parent_id", "reduction"
COMMUNICATOR_NAME = "NCCL communicator ID"
# Entry of a NCCL schema -> what it is here.
TARGETS = {
    COMMUNICATOR_NAME: COMMUNICATOR,
    "Parent NCCL communicator ID": PARENT,
    "Rank": "rank",
    "No. of ranks": "rank_count",
    "No. of devices": "rank_count",  # ncclCommInitAll: one rank each
    "CUDA device": "device_id",
    "Message size [bytes]": "message_bytes",
    "Reduction operation": REDUCTION,
    "Root": "root",
    "Peer rank": "peer_rank",
}
# Older NCCL does not name the communicator; these names only NCCL uses.
TELLING = ("Message size [bytes]", "No. of ranks", "No. of devices")
_MOST_BYTES = 1 << 31  # of a payload
# nvtxPayloadSchemaEntry_t.flags: pointers, offsets and arrays are no plain value.
_NO_SCALAR = 0b111110
_FIRST_SCHEMA_ID = 1 << 24
# Entry type of nvToolsExtPayload.h -> numpy type on 64-bit Linux; V: bytes of that size.
_TYPES = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "i8", 8: "u8", 9: "i8", 10: "u8",
    11: "i1", 12: "u1", 13: "i2", 14: "u2", 15: "i4", 16: "u4", 17: "i8", 18: "u8",
    19: "V4", 20: "V8", 21: "V16", 22: "u8", 23: "u8", 24: "V4", 25: "V1", 26: "V2", 27: "V4",
    32: "V1", 33: "V16", 34: "V16", 42: "V2", 43: "V4", 44: "V8", 45: "V16", 50: "V2", 52: "V4",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One value of a payload: what it is, where it begins, its numpy type, its enumeration."""

    target: str
    offset: int
    dtype: str
    enum: int


@dataclass(frozen=True)
class Schema:
    """A payload's layout; ``size`` is what its entries need at least. It is not clear when the
    export describes one schema in two ways."""

    entries: tuple[Entry, ...]
    size: int
    is_nccl: bool
    is_clear: bool


def reduction_name(value: object) -> str | None:
    """A text that can be a reduction's name."""
    is_name = isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w ]{0,31}", value, re.ASCII)
    return str(value) if is_name else None


def is_nccl(names: Iterable[str]) -> bool:
    found = set(names)
    if COMMUNICATOR_NAME in found:
        return True
    return found <= set(TARGETS) and not found.isdisjoint(TELLING)


# -- how payloads look ---------------------------------------------------------------------


@dataclass
class Enums:
    names: dict[tuple[int, int], dict[int, str]]  # (domain, id) -> value -> name
    sizes: dict[tuple[int, int], int]


def read_enums(db: SqliteFile) -> Enums:
    names: dict[tuple[int, int], dict[int, str]] = defaultdict(dict)
    torn: set[tuple[tuple[int, int], int]] = set()
    entries = rows(
        db, "NVTX_PAYLOAD_ENUM_ENTRIES", domainId="int", schemaId="int", name="text", value="int"
    )
    for row in entries:
        key, value, name = _key(row), as_int(row["value"]), reduction_name(row["name"])
        if key is None or value is None or name is None:
            continue
        if names[key].setdefault(value, name) != name:
            torn.add((key, value))  # two processes mean different things by one number
    for key, value in torn:
        del names[key][value]
    about = rows(db, "NVTX_PAYLOAD_ENUMS", domainId="int", schemaId="int", size="int")
    sizes = {
        key: size
        for row in about
        if (key := _key(row)) is not None and (size := as_int(row["size"])) in (1, 2, 4, 8)
    }
    return Enums(dict(names), sizes)


def _key(row: Row) -> tuple[int, int] | None:
    domain, number = as_int(row["domainId"]), as_int(row["schemaId"])
    return None if domain is None or number is None else (domain, number)


def read_schemas(db: SqliteFile, enums: Enums) -> dict[tuple[int, int], Schema]:
    """Every schema whose description is clear. The same schema comes once per process, without
    saying of which; where two differ, neither is used."""
    entries: dict[tuple[int, int], dict[int, Row]] = defaultdict(dict)
    names: dict[tuple[int, int], set[str]] = defaultdict(set)
    torn: set[tuple[int, int]] = set()
    for row in rows(
        db, "NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId="int", schemaId="int", idx="int",
        flags="int", type="int", name="text", offset="int",
    ):  # fmt: skip
        key, index = _key(row), as_int(row["idx"])
        if key is None or index is None:
            continue
        names[key].add(str(row["name"]))
        if entries[key].setdefault(index, row) != row:
            torn.add(key)
    about = rows(db, "NVTX_PAYLOAD_SCHEMAS", domainId="int", schemaId="int", alignTo="int")
    align_to = {key: as_int(row["alignTo"]) for row in about if (key := _key(row)) is not None}
    nested = {number for _, number in (*align_to, *entries)}
    found = {}
    for key, by_index in entries.items():
        is_torn = key in torn
        has_trace = is_torn and not names[key].isdisjoint((COMMUNICATOR_NAME, *TELLING))
        laid_out, size = _layout(key, by_index, enums, nested, align_to.get(key) or 0)
        found[key] = Schema(laid_out, size, has_trace or is_nccl(names[key]), not is_torn)
    return found


def _layout(
    key: tuple[int, int],
    by_index: Mapping[int, Row],
    enums: Enums,
    nested: set[int],
    align_to: int,
) -> tuple[tuple[Entry, ...], int]:
    """The entries that are plain integers and known to us, and the bytes they need.

    An offset of NULL or 0 is the first entry's, or means: where C would put it.
    """
    laid_out: list[Entry] = []
    need = 0
    end: int | None = 0  # of the entry before; None when that is not known
    for expected, (index, row) in enumerate(sorted(by_index.items())):
        kind = as_int(row["type"]) or 0
        dtype = _TYPES.get(kind)
        if kind >= _FIRST_SCHEMA_ID and ((key[0], kind) in enums.sizes or kind not in nested):
            dtype = f"i{enums.sizes.get((key[0], kind), 4)}"
        if (as_int(row["flags"]) or 0) & _NO_SCALAR:
            dtype = None
        width = int(dtype[1:]) if dtype else None
        offset = as_int(row["offset"]) or None
        if offset is None and width is not None and end is not None and index == expected:
            align = min(width, align_to) if align_to > 0 else width
            offset = -(-end // align) * align
        if offset is None or width is None or not 0 <= offset < _MOST_BYTES:
            end = None
            continue
        end = offset + width
        need = max(need, end)
        target = TARGETS.get(str(row["name"]))
        if target is not None and dtype is not None and dtype[0] != "V":
            laid_out.append(Entry(target, offset, dtype, kind))
    return tuple(laid_out), need
