"""Where a device's time went, by the slowest and plainest method there is.

Every union is made the same way: collect all boundaries, walk the intervals between
neighbouring boundaries, and ask of each which activities cover it.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from simulation import Activity, Call, Recording

SYNCHRONIZE = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
MEMORY_MANAGEMENT = ("cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaFreeHost", "cudaHostRegister")
RANGE_CAUSES = {
    "dataloader": "data_loading",
    "[DALI][CPU op] decode": "data_loading",
    "gc.collect": "garbage_collection",
    "checkpoint": "checkpoint",
}


def is_communication(work: Activity) -> bool:
    """A kernel whose name contains `nccl`."""
    return work.kind == "kernel" and "nccl" in work.name.lower()


def is_compute(work: Activity) -> bool:
    """Any other kernel, or a graph launched as a whole."""
    return work.kind in ("kernel", "graph") and not is_communication(work)


def elementary(bounds: Iterable[int]) -> list[tuple[int, int]]:
    """The intervals between neighbouring boundaries."""
    points = sorted(set(bounds))
    return list(pairwise(points))


def time_split(works: list[Activity], start: int, end: int) -> dict[str, int]:
    """How [start, end) is spent, interval by interval."""
    keys = (
        "busy_ns", "idle_ns", "kernel_busy_ns", "compute_ns", "communication_ns", "overlap_ns",
        "exposed_communication_ns", "exposed_memory_ns", "graph_ns",
    )  # fmt: skip
    total = {"span_ns": end - start, **dict.fromkeys(keys, 0)}
    bounds = [start, end] + [at for work in works for at in (work.start, work.end)]
    for left, right in elementary(bounds):
        if left < start or right > end:
            continue
        here = [work for work in works if work.start <= left and right <= work.end]
        compute = any(is_compute(work) for work in here)
        communication = any(is_communication(work) for work in here)
        holds = {
            "busy_ns": bool(here),
            "idle_ns": not here,
            "kernel_busy_ns": any(work.kind == "kernel" for work in here),
            "compute_ns": compute,
            "communication_ns": communication,
            "overlap_ns": compute and communication,
            "exposed_communication_ns": communication and not compute,
            "exposed_memory_ns": bool(here) and not compute and not communication,
            "graph_ns": any(work.kind == "graph" for work in here),
        }
        for key, held in holds.items():
            total[key] += (right - left) * held
    return total


def device_time(works: list[Activity]) -> dict[str, int]:
    """The split of a device's whole span, with the sums and counts beside it."""
    start, end = min(work.start for work in works), max(work.end for work in works)
    kernels = [work for work in works if work.kind == "kernel"]
    nccl = [work for work in kernels if is_communication(work)]
    return {
        "start_ns": start,
        "end_ns": end,
        **time_split(works, start, end),
        "kernel_sum_ns": sum(work.end - work.start for work in kernels),
        "nccl_sum_ns": sum(work.end - work.start for work in nccl),
        "kernel_count": len(kernels),
        "nccl_count": len(nccl),
        "graph_count": sum(work.kind == "graph" for work in works),
        "copy_count": sum(work.kind == "copy" for work in works),
        "memset_count": sum(work.kind == "memset" for work in works),
    }


def _host_cause(recording: Recording, blocking: set[int], own: Call, at: tuple[int, int]) -> str:
    """What the launching thread did in one interval before its launch."""
    if own.start <= at[0] and at[1] <= own.end:
        return "launch_call"
    for call in recording.calls:
        if call.thread == own.thread and call.start <= at[0] and at[1] <= call.end:
            if call.plain_name in SYNCHRONIZE:
                return "synchronize"
            if call.plain_name in MEMORY_MANAGEMENT:
                return "memory_management"
            if call.correlation in blocking:
                return "blocking_copy"
            return "other_host"
    for opened in recording.ranges:
        is_here = opened.start <= at[0] and at[1] <= (opened.end or 0)
        if is_here and opened.thread == own.thread and opened.name in RANGE_CAUSES:
            return RANGE_CAUSES[opened.name]
    return "other_host"


def _gap_causes(
    recording: Recording, works: list[Activity], after: Activity, start: int, end: int
) -> dict[str, int]:
    """Nanoseconds of one gap by why the next activity did not start."""
    call = after.call
    if call is None:
        return {"unknown": end - start}
    late_end = min(max(call.end, start), end)
    causes: dict[str, int] = defaultdict(int)
    if late_end < end:
        causes["dependency"] = end - late_end
    blocking = {work.correlation for work in works if work.is_blocking}
    near = [call for call in recording.calls if call.end > start and call.start < end]
    bounds = [start, late_end] + [at for call in near for at in (call.start, call.end)]
    for opened in recording.ranges:
        bounds += [opened.start, opened.end or opened.start]
    for left, right in elementary(bounds):
        if start <= left and right <= late_end:
            causes[_host_cause(recording, blocking, call, (left, right))] += right - left
    return dict(causes)


def gaps(recording: Recording, works: list[Activity]) -> list[dict[str, Any]]:
    """Every idle interval between two activities, and its cause."""
    found = []
    bounds = [at for work in works for at in (work.start, work.end)]
    for left, right in elementary(bounds):
        if any(work.start <= left and right <= work.end for work in works):
            continue
        before = max(
            (work for work in works if work.end == left), key=lambda work: (work.start, work.stream)
        )
        after = min(
            (work for work in works if work.start == right),
            key=lambda work: (work.end, work.stream),
        )
        causes = _gap_causes(recording, works, after, left, right)
        found.append(
            {
                "start_ns": left,
                "dur_ns": right - left,
                "cause": max(sorted(causes), key=lambda name: causes[name]),
                "split_ns": dict(sorted(causes.items())),
                "before": {"kind": before.kind, "name": before.name, "stream": before.stream},
                "after": {"kind": after.kind, "name": after.name, "stream": after.stream},
            }
        )
    return found
