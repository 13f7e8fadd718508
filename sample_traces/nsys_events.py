"""The rows of what happened: calls, ranges, device work, GPU metrics."""

import json
from typing import Any

from description import Process, global_pid, us
from gpu_samples import Sample
from nsys_file import NsysFile
from nsys_payloads import payload
from simulation import COPY_KINDS, Activity, Recording

METRIC_TYPE = (1 << 48) + (1 << 32)  # plus the GPU's id
MEMORY_KINDS = {"pageable": 0, "pinned": 1, "device": 2}
NVTX_MARK, NVTX_PUSH_POP = 34, 59


def short_name(name: str) -> str:
    """A kernel's name without return type, namespaces, templates and arguments."""
    return name.split("(")[0].split("<")[0].split("::")[-1].split(" ")[-1]


def add_host_events(file: NsysFile, recording: Recording) -> None:
    """Calls, ranges and marks."""
    process = recording.process
    for call in recording.calls:
        is_driver = not call.name.startswith("cuda")
        row = {
            "globalTid": file.tid(process, call.thread),
            "correlationId": call.correlation, "returnValue": 0,
        }  # fmt: skip
        if call.has_backtrace:
            file.add(
                "CUPTI_ACTIVITY_KIND_RUNTIME", **row, start=call.start - 200,
                end=call.end + 150, eventClass=67, nameId=file.text(call.plain_name),
                callchainId=0,
            )  # fmt: skip
        file.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME", **row, start=call.start, end=call.end,
            eventClass=int(is_driver), nameId=file.text(call.name),
        )  # fmt: skip
    for opened in sorted(recording.ranges, key=lambda opened: opened.end or opened.start):
        name = {"text": opened.name}
        named: dict[str, Any] = {"textId": file.text(opened.name)} if opened.is_registered else name
        file.add(
            "NVTX_EVENTS", start=opened.start, end=opened.end,
            eventType=NVTX_MARK if opened.is_mark else NVTX_PUSH_POP, **named,
            globalTid=file.tid(process, opened.thread),
            domainId=process.domains.get(opened.domain, 0), **payload(file, process, opened),
        )  # fmt: skip
    for name_, start, end, thread in recording.os_calls:
        file.add(
            "OSRT_API", start=start, end=end, eventClass=27,
            globalTid=file.tid(process, thread), nameId=file.text(name_), returnValue=0,
            nestingLevel=0, callchainId=0, argumentsId=0,
        )  # fmt: skip
    for overhead in file.job.overheads:
        file.add(
            "PROFILER_OVERHEAD", start=us(overhead["at_us"]),
            end=us(overhead["at_us"] + overhead["us"]),
            globalTid=file.tid(process, overhead["thread"]),
            nameId=file.text(overhead["name"]), returnValue=0, overheadType=overhead["kind"],
        )  # fmt: skip


def add_device_events(file: NsysFile, recording: Recording) -> None:
    """Kernels, graphs, copies, sets, synchronisations and event records."""
    process = recording.process
    place = {
        "deviceId": process.device, "contextId": 1, "greenContextId": 0,
        "globalPid": global_pid(process),
    }  # fmt: skip
    for grid, work in enumerate(recording.device_work(file.trace.graph_trace)):
        row: dict[str, Any] = {
            **place, "start": work.start, "end": work.end, "streamId": work.stream,
            "correlationId": work.correlation,
        }  # fmt: skip
        if work.kind == "kernel":
            file.add("CUPTI_ACTIVITY_KIND_KERNEL", **row, **kernel_row(file, work, grid))
        elif work.kind == "graph":
            graph = work.graph_node or 0
            file.add(
                "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", **row, graphId=graph,
                graphExecId=graph + 10,
            )  # fmt: skip
        elif work.kind == "copy":
            file.add(
                "CUPTI_ACTIVITY_KIND_MEMCPY", **row, bytes=work.bytes, copyCount=1,
                copyKind=COPY_KINDS[work.name], srcKind=MEMORY_KINDS[work.source],
                dstKind=MEMORY_KINDS[work.target],
            )  # fmt: skip
        else:
            file.add("CUPTI_ACTIVITY_KIND_MEMSET", **row, value=0, bytes=work.bytes, memKind=2)
    for start, end, stream, correlation, kind, event in recording.syncs:
        file.add(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **{**place, "greenContextId": None},
            start=start, end=end, streamId=stream, correlationId=correlation, syncType=kind,
            eventId=event, eventSyncId=event,
        )  # fmt: skip
    for moment in recording.memory_events:
        file.add(
            "CUDA_GPU_MEMORY_USAGE_EVENTS", start=moment.at, globalPid=global_pid(process),
            deviceId=process.device, contextId=1, address=0x7F0000000000 + moment.bytes,
            bytes=moment.bytes, memKind=MEMORY_KINDS[moment.memory],
            memoryOperationType=int(moment.operation == "free"), correlationId=moment.correlation,
        )  # fmt: skip
    for stream, correlation, event in recording.event_records:
        file.add(
            "CUPTI_ACTIVITY_KIND_CUDA_EVENT", **place, timestamp=0, streamId=stream,
            correlationId=correlation, eventId=event, eventSyncId=event,
        )  # fmt: skip
    if any(work.kind == "graph" for work in recording.graph_launches):
        add_graphs(file, process)


def add_graphs(file: NsysFile, process: Process) -> None:
    """The creation (95) and instantiation (94) of each graph."""
    for number in range(1, len(file.job.graphs) + 1):
        for kind, executable in ((95, None), (94, number + 10)):
            at = us(process.program_begins_us) - 900_000 + number * 1000 + 500 * (kind == 94)
            file.add(
                "CUDA_GRAPH_EVENTS", start=at, end=at, eventClass=kind,
                globalTid=file.tid(process, "main"), nameId=file.text("CUDA graph"),
                graphId=number, graphExecId=executable,
            )  # fmt: skip


def kernel_row(file: NsysFile, work: Activity, grid: int) -> dict[str, Any]:
    """What a kernel's row says beside place and time."""
    kernel = file.job.kernels[work.kernel]
    is_node = work.graph_node is not None
    axes = {
        f"{key}{axis}": kernel[key][i] for key in ("grid", "block") for i, axis in enumerate("XYZ")
    }
    return {
        **axes,
        "demangledName": file.text(kernel["name"]),
        "shortName": file.text(kernel.get("short", short_name(kernel["name"]))),
        "mangledName": file.text(f"_Z_{work.kernel}"),
        "launchType": 1,
        "cacheConfig": 1,
        "registersPerThread": kernel["registers"],
        "staticSharedMemory": 0,
        "dynamicSharedMemory": kernel.get("shared_bytes", 0),
        "localMemoryPerThread": 0,
        "localMemoryTotal": 0,
        "gridId": grid + 1,
        "sharedMemoryExecuted": 32768,
        "sharedMemoryLimitConfig": 0,
        "graphNodeId": work.graph_node,
        "graphId": (work.graph_node or 0) >> 32 if is_node else None,
        **dict.fromkeys(("clusterX", "clusterY", "clusterZ"), 0),
        **dict.fromkeys(
            ("clusterSchedulingPolicy", "maxPotentialClusterSize", "maxActiveClusters"), 0
        ),
    }


def add_metrics(file: NsysFile, samples: list[Sample]) -> None:
    """GPU metrics: one row a value, one JSON text a moment, or both as 2023.4 has it."""
    if not samples:
        return
    kind = METRIC_TYPE + file.recordings[0].process.gpu
    names = [metric["name"] for metric in file.job.gpu_metrics["metrics"]]
    if file.trace.metrics_form in ("json", "both"):
        source = {"Name": "GpuMetrics", "TimeSource": "SessionNs", "SourceGroup": "Unknown"}
        fields = {"Name": "", "Fields": [{"Name": name} for name in reversed(names)]}
        file.add("GENERIC_EVENT_SOURCES", sourceId=METRIC_TYPE, data=as_json(source))
        file.add("GENERIC_EVENT_TYPES", typeId=kind, sourceId=METRIC_TYPE, data=as_json(fields))
        for at in sorted({sample.at for sample in samples}):
            values = {one.metric: str(one.value) for one in samples if one.at == at}
            data = as_json({name: values[name] for name in reversed(names)})
            file.add("GENERIC_EVENTS", rawTimestamp=at, typeId=kind, data=data)
    if file.trace.metrics_form in ("table", "both"):
        for number, name in enumerate(names):
            file.add(
                "TARGET_INFO_GPU_METRICS", typeId=kind, sourceId=METRIC_TYPE, typeName="",
                metricId=number, metricName=name,
            )  # fmt: skip
        for one in samples:  # large values wrap into the sign bit; never time-shifted
            value = one.value - 2**32 if one.value >= 2**31 else one.value
            file.add(
                "GPU_METRICS", timestamp=one.at, typeId=kind,
                metricId=names.index(one.metric), value=value,
            )  # fmt: skip


def as_json(value: dict[str, Any]) -> str:
    """JSON as the exporter lays it out."""
    return json.dumps(value, indent=4).replace("/", "\\/") + "\n"
