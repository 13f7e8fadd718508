"""NVTX payloads with which NCCL describes its calls, in each form an export may have."""

import json
import struct
from typing import Any

from description import Process
from nsys_file import NsysFile
from simulation import Range, Recording

U64, INT, SIZE = 18, 5, 22  # entry types of NVTX
FORMATS = {U64: "Q", INT: "i", SIZE: "Q"}
REDUCTION = 16777232  # id of the enumeration, which is an entry type as well
REDUCTIONS = ("Sum", "Product", "Max", "Min", "Avg")
_COMMUNICATOR = (U64, "NCCL communicator ID")
_BYTES = (SIZE, "Message size [bytes]")

# Function -> id and entries of its schema, as NCCL 2.27 registers them.
SCHEMAS = {
    "ncclAllGather": (16777220, (_COMMUNICATOR, _BYTES)),
    "ncclAllReduce": (16777221, (_COMMUNICATOR, _BYTES, (REDUCTION, "Reduction operation"))),
    "ncclBroadcast": (16777222, (_COMMUNICATOR, _BYTES, (INT, "Root"))),
    "ncclReduceScatter": (16777223, (_COMMUNICATOR, _BYTES, (REDUCTION, "Reduction operation"))),
    "ncclSend": (16777225, (_COMMUNICATOR, _BYTES, (INT, "Peer rank"))),
    "ncclRecv": (16777226, (_COMMUNICATOR, _BYTES, (INT, "Peer rank"))),
    "ncclCommInitRankConfig": (
        16777227,
        (_COMMUNICATOR, (INT, "No. of ranks"), (INT, "Rank"), (INT, "CUDA device")),
    ),
}


def _offsets(entries: tuple[tuple[int, str], ...]) -> list[int]:
    """Where a C compiler puts each entry, and how long the whole is."""
    places, end = [], 0
    for kind, _ in entries:
        size = struct.calcsize(FORMATS.get(kind, "i"))
        places.append(-(-end // size) * size)
        end = places[-1] + size
    return [*places, -(-end // 8) * 8]


def add_schemas(file: NsysFile, recording: Recording) -> None:
    """The schemas that one process registered; no row says which process that was."""
    domain = recording.process.domains["NCCL"]
    used = {opened.name for opened in recording.ranges if opened.payload}
    for name, (number, entries) in SCHEMAS.items():
        if name not in used:
            continue
        *places, size = _offsets(entries)
        file.add(
            "NVTX_PAYLOAD_SCHEMAS", domainId=domain, schemaId=number, type=1,
            numEntries=len(entries), payloadSize=size,
        )  # fmt: skip
        for index, ((kind, label), place) in enumerate(zip(entries, places, strict=True)):
            file.add(
                "NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId=domain, schemaId=number, idx=index,
                type=kind, name=label, offset=place or None,
            )  # fmt: skip
    file.add(
        "NVTX_PAYLOAD_ENUMS", domainId=domain, schemaId=REDUCTION, numEntries=len(REDUCTIONS),
        size=4,
    )  # fmt: skip
    for index, label in enumerate(REDUCTIONS):
        file.add(
            "NVTX_PAYLOAD_ENUM_ENTRIES", domainId=domain, schemaId=REDUCTION, idx=index,
            name=label, value=index,
        )  # fmt: skip


def payload(file: NsysFile, process: Process, opened: Range) -> dict[str, Any]:
    """The columns of NVTX_EVENTS that hold a range's payload, if it has one."""
    if not opened.payload or not file.trace.payloads:
        return {}
    if file.trace.payloads == "blob":
        return {"binaryData": _blob(process.domains["NCCL"], opened)}
    text = json.dumps(
        {
            name: f"{value:,}" if isinstance(value, int) else value
            for name, value in opened.payload.items()
        },
        separators=(",", ":"),
    )
    if file.trace.payloads == "json":
        return {"jsonText": text}
    return {"jsonTextId": file.text(text)}


def _blob(domain: int, opened: Range) -> bytes:
    """Domain, schema, size and offset of the payload, and the payload, a C struct."""
    number, entries = SCHEMAS[opened.name]
    *places, size = _offsets(entries)
    content = bytearray(size)
    for (kind, label), place in zip(entries, places, strict=True):
        value = (opened.payload or {})[label]
        if kind == REDUCTION:
            value = REDUCTIONS.index(value)
        struct.pack_into("<" + FORMATS.get(kind, "i"), content, place, value)
    return struct.pack("<4Q", domain, number, size, 32) + content
