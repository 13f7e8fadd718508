"""Table definitions of the Nsight Systems SQLite export, by exporter generation.

A column is written `name`, with `!` for NOT NULL, `*` for PRIMARY KEY, `:TYPE` when it is
not INTEGER, `>=V` for the first and `<=V` for the last generation that has it.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Exporter:
    """What an exporter says about itself."""

    product: str
    schema: str
    checksum: str
    meta_table: str  # where it says so
    time_suffix: str  # "0.38" became "0.38 sec"


EXPORTERS = {
    "2022.4": Exporter("2022.4.2.1", "3.0.0", "4042420554 115894", "EXPORT_META_DATA", ""),
    "2023.4": Exporter("2023.4.4.54", "3.7.2", "2307844469 139029", "META_DATA_EXPORT", " sec"),
    "2025.5": Exporter("2025.5.2.266", "3.24.0", "1638241493 169465", "META_DATA_EXPORT", " sec"),
}

_PLACE = "deviceId! contextId! greenContextId>=2023.4 streamId! correlationId globalPid"
_CALL = "start! end! eventClass! globalTid"
_PAIR = "name:TEXT! value:TEXT"
_ENUM = "id!* name:TEXT label:TEXT"

TABLES = {
    "StringIds": "id!* value:TEXT!",
    "ProcessStreams": "globalPid! filenameId! contentId!",
    "NVTX_PAYLOAD_SCHEMAS": (
        "domainId schemaId name:TEXT type flags numEntries payloadSize alignTo"
    ),
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
        "domainId! schemaId! idx! flags type name:TEXT description:TEXT arrayOrUnionDetail offset"
    ),
    "NVTX_PAYLOAD_ENUMS": "domainId schemaId name:TEXT numEntries size",
    "NVTX_PAYLOAD_ENUM_ENTRIES": "domainId! schemaId! idx! name:TEXT value isFlag",
    "TARGET_INFO_SYSTEM_ENV": (
        "globalVid!<=2022.4 globalVid>=2023.4 devStateName:TEXT! name:TEXT! nameEnum! value:TEXT!"
    ),
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:TEXT localTime:TEXT",
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "PROCESSES": "globalPid pid name:TEXT",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": f"timestamp>=2025.5 {_PLACE} eventId! eventSyncId>=2025.5",
    "DIAGNOSTIC_EVENT": "timestamp! timestampType! source! severity! text:TEXT! globalPid",
    "PROFILER_OVERHEAD": "start! end! globalTid nameId! returnValue!<=2023.4 overheadType!>=2025.5",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": (
        "start! globalPid! deviceId! contextId! address! pc! bytes! memKind! memoryOperationType!"
        " name:TEXT correlationId localMemoryPoolAddress localMemoryPoolReleaseThreshold"
        " localMemoryPoolSize localMemoryPoolUtilizedSize importedMemoryPoolAddress"
        " importedMemoryPoolProcessId"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{_CALL} correlationId nameId! returnValue! callchainId",
    "NVTX_EVENTS": (
        "start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId"
        " domainId uint64Value int64Value doubleValue:REAL uint32Value int32Value"
        " floatValue:REAL jsonTextId jsonText:TEXT binaryData:TEXT>=2025.5"
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        f"start! end! {_PLACE} demangledName! shortName! mangledName launchType cacheConfig"
        " registersPerThread! gridX! gridY! gridZ! blockX! blockY! blockZ! staticSharedMemory!"
        " dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId!"
        " sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone>=2025.5"
        " qmdPreexitDone>=2025.5 qmdLastCtaDone>=2025.5 graphId>=2025.5 clusterX>=2025.5"
        " clusterY>=2025.5 clusterZ>=2025.5 clusterSchedulingPolicy>=2025.5"
        " maxPotentialClusterSize>=2025.5 maxActiveClusters>=2025.5"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": f"start! end! {_PLACE} value! bytes! graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        f"start! end! {_PLACE} bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId"
        " srcContextId dstDeviceId dstContextId migrationCause graphNodeId virtualAddress"
        " copyCount>=2025.5"
    ),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
        f"start! end! {_PLACE} deprecatedSyncType>=2025.5 syncType! eventId! eventSyncId>=2025.5"
    ),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"start! end! {_PLACE} graphId! graphExecId!",
    "CUDA_GRAPH_EVENTS": f"{_CALL} nameId! graphId originalGraphId graphExecId",
    "OSRT_API": (f"{_CALL} nameId! returnValue! nestingLevel callchainId! argumentsId!>=2025.5"),
    "GENERIC_EVENT_TYPES": "typeId!* sourceId! data:TEXT!",
    "TARGET_INFO_GPU_METRICS": ("typeId! sourceId! typeName:TEXT! metricId! metricName:TEXT!"),
    "GENERIC_EVENT_SOURCES": "sourceId!* data:TEXT!",
    "GENERIC_EVENTS": "rawTimestamp! timestamp typeId! data:TEXT!",
    "GPU_METRICS": "timestamp typeId! metricId! value!",
    "ThreadNames": "nameId! priority globalTid",
    "TARGET_INFO_GPU": (
        "vmId! id! name:TEXT busLocation:TEXT isDiscrete l2CacheSize totalMemory memoryBandwidth"
        " clockRate smCount pwGpuId uuid:TEXT luid chipName:TEXT cuDevice ctxswDevPath:TEXT"
        " ctrlDevPath:TEXT revision nodeMask constantMemory maxIPC maxRegistersPerBlock"
        " maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm threadsPerWarp"
        " asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY"
        " maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor"
        " smMinor"
    ),
    "TARGET_INFO_CUDA_NULL_STREAM": "streamId! hwId! vmId! processId! deviceId! contextId!",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid!",
    "TARGET_INFO_CUDA_CONTEXT_INFO": (
        "nullStreamId! hwId! vmId! processId! deviceId! contextId! parentContextId isGreenContext"
    ),
    "TARGET_INFO_CUDA_STREAM": "streamId! hwId! vmId! processId! contextId! priority! flag!",
    "ENUM_CUDA_MEMCPY_OPER": _ENUM,
    "ENUM_CUDA_MEM_KIND": _ENUM,
    "ENUM_CUPTI_SYNC_TYPE": _ENUM,
    "META_DATA_CAPTURE": _PAIR,
    "EXPORT_META_DATA": _PAIR,
    "META_DATA_EXPORT": _PAIR,
}

ENUM_ROWS = {
    "ENUM_CUDA_MEMCPY_OPER": [
        (0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"),
        (1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
        (2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"),
        (8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"),
        (10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"),
    ],
    "ENUM_CUDA_MEM_KIND": [
        (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
        (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
        (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"),
    ],
    "ENUM_CUPTI_SYNC_TYPE": [
        (1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"),
        (2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "Stream wait sync"),
        (3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"),
        (4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"),
    ],
}

# Tables that not every generation has.
_SINCE = {
    "DIAGNOSTIC_EVENT": "2025.5",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "2025.5",  # earlier ones know it; no job of theirs has it
    "NVTX_PAYLOAD_SCHEMAS": "2025.5",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "2025.5",
    "NVTX_PAYLOAD_ENUMS": "2025.5",
    "NVTX_PAYLOAD_ENUM_ENTRIES": "2025.5",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "2025.5",
    "CUDA_GRAPH_EVENTS": "2025.5",  # the earlier table of that name holds graph nodes
    "TARGET_INFO_CUDA_DEVICE": "2025.5",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "2023.4",
    "TARGET_INFO_GPU_METRICS": "2023.4",
    "GPU_METRICS": "2023.4",
    "META_DATA_CAPTURE": "2023.4",
    "META_DATA_EXPORT": "2023.4",
}
_UNTIL = {"EXPORT_META_DATA": "2022.4", "TARGET_INFO_CUDA_NULL_STREAM": "2022.4"}

_COLUMN = re.compile(r"(\w+)(?::(\w+))?(!?)(\*?)(?:>=([\d.]+))?(?:<=([\d.]+))?$")


def is_in(table: str, generation: str) -> bool:
    """Whether that exporter knows the table."""
    return _SINCE.get(table, generation) <= generation <= _UNTIL.get(table, generation)


def tables(generation: str) -> list[str]:
    """The tables of that exporter, in the order they are made."""
    return [table for table in TABLES if is_in(table, generation)]


def columns(table: str, generation: str) -> list[tuple[str, str]]:
    """Name and SQL declaration of each column of `table` as that exporter writes it."""
    found = []
    for word in TABLES[table].split():
        match = _COLUMN.match(word)
        if match is None:
            raise ValueError(f"{table}: cannot read column {word!r}")
        name, kind, not_null, key, since, until = match.groups()
        if (since and generation < since) or (until and generation > until):
            continue
        rule = (" NOT NULL" if not_null else "") + (" PRIMARY KEY" if key else "")
        found.append((name, (kind or "INTEGER") + rule))
    return found


def create_table(table: str, generation: str) -> str:
    """The CREATE TABLE statement of one table."""
    body = ", ".join(f'"{name}" {rule}' for name, rule in columns(table, generation))
    return f'CREATE TABLE "{table}" ({body})'
