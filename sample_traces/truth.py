"""The exact truth of what was simulated: per process, per file, across ranks.

All times are nanoseconds from the begin of that file's capture.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from description import Job, TraceFile, global_pid, us
from device_truth import device_time, gaps, time_split
from nsys_schema import EXPORTERS
from simulation import Activity, Call, Entry, Range, Recording, meetings, parts


def _grouped(
    items: Iterable[Any], key: Callable[[Any], Any], extent: Callable[[Any], int]
) -> dict[Any, dict[str, int]]:
    """Count, total, least and most of `extent` for each `key`."""
    groups = defaultdict(list)
    for item in items:
        groups[key(item)].append(extent(item))
    return {
        name: {
            "count": len(values),
            "total_ns": sum(values),
            "min_ns": min(values),
            "max_ns": max(values),
        }
        for name, values in sorted(groups.items())
    }


def _length(item: Activity | Call) -> int:
    return item.end - item.start


def copies(works: list[Activity]) -> list[dict[str, Any]]:
    """Copies by kind and by the kind of memory at both ends."""
    groups = defaultdict(list)
    for work in works:
        if work.kind == "copy":
            groups[work.name, work.source, work.target].append(work)
    return [
        {
            "kind": kind,
            "source": source,
            "target": target,
            "count": len(group),
            "bytes": sum(work.bytes for work in group),
            "total_ns": sum(_length(work) for work in group),
        }
        for (kind, source, target), group in sorted(groups.items())
    ]


def launched_inside(opened: Range, works: list[Activity]) -> list[Activity]:
    """Device work whose recorded launch began inside the range, on the range's thread."""
    if opened.end is None:
        return []
    return [
        work
        for work in works
        if work.call is not None
        and work.call.thread == opened.thread
        and opened.start <= work.call.start < opened.end
    ]


def nvtx(recording: Recording, works: list[Activity]) -> list[dict[str, Any]]:
    """Ranges by name: host time, and the device work launched inside them."""
    groups = defaultdict(list)
    for opened in recording.ranges:
        if not opened.is_mark:
            groups[opened.domain, opened.name].append(opened)
    found = []
    for (domain, name), group in sorted(groups.items()):
        closed = [opened for opened in group if opened.end is not None]
        inside = [work for work in (launched_inside(opened, works) for opened in closed) if work]
        found.append(
            {
                "domain": domain,
                "name": name,
                "count": len(group),
                "open_count": len(group) - len(closed),
                "total_ns": sum((opened.end or 0) - opened.start for opened in closed),
                "work_count": sum(len(work) for work in inside),
                "projected_ns": sum(
                    max(w.end for w in work) - min(w.start for w in work) for work in inside
                ),
                "projected_busy_ns": sum(device_time(work)["busy_ns"] for work in inside),
            }
        )
    return found


def steps(recording: Recording, works: list[Activity]) -> list[dict[str, Any]]:
    """Each iteration on the host, on the device through its launches, and the split of both."""
    found = []
    for opened in recording.ranges:
        inside = launched_inside(opened, works)
        if not opened.name.startswith("iteration") or opened.end is None:
            continue
        row: dict[str, Any] = {
            "step": opened.step,
            "name": opened.name,
            "start_ns": opened.start,
            "end_ns": opened.end,
        }
        if inside:
            start, end = min(w.start for w in inside), max(w.end for w in inside)
            every = [work for work in works if work.step == opened.step]
            row |= {
                "gpu_start_ns": start,
                "gpu_end_ns": end,
                "all_threads_gpu_start_ns": min(work.start for work in every),
                "all_threads_gpu_end_ns": max(work.end for work in every),
                "time": time_split(works, start, end),
            }
        found.append(row)
    return found


def process_truth(job: Job, recording: Recording, graph_trace: str) -> dict[str, Any]:
    """Everything true of one process in one file; the recording's times are the file's."""
    process = recording.process
    works = recording.device_work(graph_trace)
    uuid, bus = job.gpu_identity(process.host, process.gpu)
    kernels = [work for work in works if work.kind == "kernel"]
    device = {
        "device_id": process.device,
        "gpu_id": process.gpu,
        "gpu_uuid": uuid,
        "pci_bus_id": bus,
        "gpu_name": job.gpu["name"],
        "host": process.host,
        "time": device_time(works) if works else None,
        "gaps": gaps(recording, works),
        "kernels": _grouped(kernels, lambda work: work.name, _length),
        "copies": copies(works),
        "memsets": {
            "count": sum(work.kind == "memset" for work in works),
            "bytes": sum(work.bytes for work in works if work.kind == "memset"),
            "total_ns": sum(_length(work) for work in works if work.kind == "memset"),
        },
    }
    return {
        "pid": process.pid,
        "global_pid": global_pid(process),
        "rank": process.rank,
        "devices": [device] if works else [],
        "api": _grouped(recording.calls, lambda call: call.plain_name, _length),
        "nvtx": nvtx(recording, works),
        "marks": sum(opened.is_mark for opened in recording.ranges),
        "steps": steps(recording, works),
        **(
            {"memory_events": [event._asdict() for event in recording.memory_events]}
            if recording.memory_events
            else {}
        ),
        **({"nccl_calls": nccl_calls(recording)} if job.communicators else {}),
        "orphan_kernels": sum(work.call is None for work in works),
        "launches_without_work": sum(
            "Launch" in call.name and not any(work.call is call for work in works)
            for call in recording.calls
        ),
    }


def _hex(number: int) -> str:
    return f"0x{number:016x}"


def nccl_calls(recording: Recording) -> list[dict[str, Any]]:
    """Calls of NCCL that say what they do, in the order in which they began."""
    names = {
        "No. of ranks": "rank_count", "Rank": "rank", "CUDA device": "device_id",
        "Message size [bytes]": "message_bytes", "Reduction operation": "reduction", "Root": "root",
    }  # fmt: skip
    return [
        {
            "name": opened.name,
            "start_ns": opened.start,
            "end_ns": opened.end,
            "communicator_id": _hex(opened.payload["NCCL communicator ID"]),
            **{
                here: opened.payload[name] for name, here in names.items() if name in opened.payload
            },
        }
        for opened in sorted(recording.ranges, key=lambda opened: opened.start)
        if opened.payload
    ]


def collectives(recordings: list[Recording], pids: set[int]) -> list[dict[str, Any]]:
    """Each collective, as all its processes saw it; only those in `pids` are listed. `index`
    counts within its communicator.

    `recordings` are on the job's clock.
    """
    return [
        {"index": index, **_collective(ranks, entries, pids)}
        for group, ranks in meetings(recordings).items()
        for index, entries in enumerate(parts(ranks, group))
    ]


def _collective(
    ranks: list[Recording], entries: tuple[Entry, ...], pids: set[int]
) -> dict[str, Any]:
    last_start = max(entry.start for entry in entries)
    first_end = min(entry.end for entry in entries)
    last = max(range(len(entries)), key=lambda i: entries[i].start)
    group = entries[0].communicator
    row: dict[str, Any] = {
        "step": entries[0].step,
        "operation": entries[0].operation,
        "bytes": entries[0].bytes,
        "last_rank": ranks[last].process.rank,
        "last_pid": ranks[last].process.pid,
        "ranks": [],
    }
    if group:
        row |= {"communicator_id": _hex(group.number), "group": group.name}
    for recording, entry in zip(ranks, entries, strict=True):
        if recording.process.pid not in pids:
            continue
        zero = us(recording.process.capture_begins_us)
        row["ranks"].append(
            {
                "rank": recording.process.rank,
                "pid": recording.process.pid,
                "start_ns": entry.start - zero,
                "end_ns": entry.end - zero,
                "wait_ns": last_start - entry.start,
                "transfer_ns": first_end - last_start,
                "tail_ns": entry.end - first_end,
            }
        )
    return row


def late_truth(
    job: Job, recordings: list[Recording], on_time: list[Recording]
) -> dict[str, Any] | None:
    """The late rank, what the others waited, and what the job lost against the same job on time."""
    if not job.late:
        return None
    waits: dict[str, dict[str, int]] = {}
    for row in collectives(recordings, {one.process.pid for one in recordings}):
        step = waits.setdefault(str(row["step"]), {})
        for rank in row["ranks"]:
            name = str(rank["rank"])
            step[name] = step.get(name, 0) + rank["wait_ns"]
    ends = [max(recording.end for recording in group) for group in (recordings, on_time)]
    return {
        "rank": job.late["rank"],
        "steps": job.late["steps"],
        "late_by_ns": us(job.late["us"]),
        "lost_ns": ends[0] - ends[1],
        "wait_ns_by_step_and_rank": waits,
    }


def file_truth(
    job: Job, trace: TraceFile, recordings: list[Recording], rows: dict[str, int]
) -> dict[str, Any]:
    """Everything true of one file; its recordings are on the file's own clock."""
    first = recordings[0].process
    exporter = EXPORTERS[trace.exporter]
    return {
        "exporter_version": exporter.product,
        "schema_version": exporter.schema,
        "utc_epoch_ns": job.utc_epoch_ns(first),
        "end_ns": max(recording.end for recording in recordings),
        "host": first.host,
        "rank": first.rank if len(recordings) == 1 else None,
        "local_rank": first.local_rank if len(recordings) == 1 else None,
        "world_size": int(job.environment["WORLD_SIZE"])
        if "WORLD_SIZE" in job.environment
        else None,
        "nccl_version": job.environment.get("NCCL_VERSION"),
        "must_not_be_kept": ["made-up", "someone"],
        "clock_error_ns": us(job.hosts[first.host]["clock_error_us"]),
        "time_shift_ns": job.utc_epoch_ns(first) if trace.time_shift else 0,
        "graph_trace": trace.graph_trace,
        "processes": [process_truth(job, one, trace.graph_trace) for one in recordings],
        "rows": rows,
    }
