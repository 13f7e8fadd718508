"""Plays a description on simulated hosts and devices: who did what, from when to when.

A host runs its program line by line. Device work starts when it is launched, its stream is
free and what it waits for is done. A collective ends for all ranks a fixed time after the
last one entered, so all ranks are played again until no entry moves any more.
All times are nanoseconds on the job's own clock.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from description import Communicator, Job, Operation, Process, us

BLOCKING = "pageable"
COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8}
TAILS_NS = (0, 300, 600, 900)  # how much later than the first a rank leaves a collective


@dataclass
class Call:
    """A call of the CUDA runtime or driver."""

    name: str
    start: int
    end: int
    thread: str
    correlation: int
    has_backtrace: bool = False

    @property
    def plain_name(self) -> str:
        """The name without the version of its interface."""
        return re.sub(r"_v\d{4}$", "", self.name)


@dataclass
class Activity:
    """Work on a device."""

    kind: str  # kernel, copy, memset, graph
    name: str
    stream: int
    start: int
    end: int
    correlation: int
    call: Call | None  # None: its launch was not recorded
    step: int | None
    bytes: int = 0
    source: str = ""
    target: str = ""
    kernel: str = ""  # key in the description
    graph_node: int | None = None
    is_blocking: bool = False


@dataclass
class Range:
    """An NVTX range; a mark has no end and `is_mark`."""

    name: str
    domain: str
    thread: str
    start: int
    end: int | None = None
    is_registered: bool = False
    is_mark: bool = False
    step: int | None = None
    payload: dict[str, Any] | None = None  # NCCL's, by the names of its entries


class Sync(NamedTuple):
    """A synchronisation: of a stream with the host (3), or with an event (2)."""

    start: int
    end: int
    stream: int
    correlation: int
    kind: int
    event: int


class MemoryEvent(NamedTuple):
    """Memory allocated (`allocate`) or given back (`free`)."""

    at: int
    operation: str
    memory: str
    bytes: int
    correlation: int


class EventRecord(NamedTuple):
    """An event put into a stream."""

    stream: int
    correlation: int
    event: int


@dataclass
class Entry:
    """One rank's part in one collective; `communicator` is None where the whole job meets."""

    operation: str
    bytes: int
    step: int | None
    start: int
    end: int
    communicator: Communicator | None = None


# Communicator (None: the whole job) -> collective -> when each rank entered.
Meetings = dict[Communicator | None, list[list[int]]]


@dataclass
class Recording:
    """What happened in one process."""

    process: Process
    calls: list[Call] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)
    graph_launches: list[Activity] = field(default_factory=list)
    graph_nodes: list[Activity] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)
    event_records: list[EventRecord] = field(default_factory=list)
    memory_events: list[MemoryEvent] = field(default_factory=list)
    os_calls: list[tuple[str, int, int, str]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    end: int = 0

    def device_work(self, graph_trace: str) -> list[Activity]:
        """All device work as a capture in that graph mode shows it, in launch order."""
        graphs = self.graph_nodes if graph_trace == "node" else self.graph_launches
        return sorted(self.activities + graphs, key=lambda work: (work.correlation, work.start))


class Draw:
    """A small linear congruential generator: the same few nanoseconds of jitter every time."""

    def __init__(self, seed: int) -> None:
        self.state = seed * 2654435761 % 2**32

    def below(self, limit: int) -> int:
        """The next number in [0, limit)."""
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) % limit


class Player:
    """Plays one process."""

    def __init__(self, job: Job, process: Process, peers: Meetings) -> None:
        self.job = job
        self.process = process
        self.peers = peers  # from the round before
        self.recording = Recording(process)
        self.draw = Draw(process.pid)
        self.now = us(process.program_begins_us)
        self.thread = "main"
        self.step: int | None = None
        self.correlation = 0
        self.free: dict[int, int] = {}  # stream -> when its last work ends
        self.events: dict[str, tuple[int, int]] = {}  # name -> (id, when done)
        self.open: list[Range] = []
        self.allocated: dict[str, tuple[str, int]] = {}  # name -> (memory, bytes)

    def play(self) -> Recording:
        """The whole program: before, every step, after."""
        self._run("before")
        for step in range(self.job.steps):
            self.step = step
            self._run("step")
        self.step = None
        self._run("after")
        self.recording.end = max([self.now, *self.free.values()])
        return self.recording

    def _run(self, part: str) -> None:
        for operation in self.job.programs[self.process.program].get(part, []):
            if operation.applies(self.step, self.process.rank):
                act: Callable[[Operation], None] = getattr(self, f"_do_{operation.verb}")
                act(operation)

    # Host

    def _do_do(self, op: Operation) -> None:
        for _ in range(int(op.text("times", "1"))):
            self._run(op.words[0])

    def _do_thread(self, op: Operation) -> None:
        self.thread = op.words[0]

    def _do_host(self, op: Operation) -> None:
        self.now += us(float(op.words[0])) + self.draw.below(300)

    def _do_late(self, op: Operation) -> None:
        late = self.job.late
        if late and self.process.rank == late["rank"] and self.step in late["steps"]:
            self.now += us(late["us"])

    def _do_range(self, op: Operation) -> None:
        name = op.words[0].format(step=self.step)
        domain = op.text("domain", "")
        opened = Range(name, domain, self.thread, self.now, step=self.step)
        opened.is_registered = "registered" in op.words
        self.open.append(opened)
        self.recording.ranges.append(opened)
        self.now += 200

    def _do_end(self, op: Operation) -> None:
        self.open.pop().end = self.now
        self.now += 150

    def _do_mark(self, op: Operation) -> None:
        name = op.words[0].format(step=self.step)
        self.recording.ranges.append(
            Range(name, "", self.thread, self.now, is_mark=True, step=self.step)
        )

    def _do_osrt(self, op: Operation) -> None:
        end = self.now + us(float(op.words[1])) + self.draw.below(300)
        self.recording.os_calls.append((op.words[0], self.now, end, self.thread))
        self.now = end + 400

    def _do_call(self, op: Operation) -> None:
        self._call(op, op.words[0], us(float(op.words[1])))

    def _do_sync(self, op: Operation) -> None:
        stream = self.job.streams[op.words[0]]
        done = max(self.now + 1500, self.free.get(stream, 0))
        duration = done - self.now + op.ns("back", self.job.call_us["sync_return"])
        call = self._call(op, op.text("call", "cudaStreamSynchronize_v3020"), duration)
        self.recording.syncs.append(
            Sync(call.start + 400, call.end - 300, stream, call.correlation, 3, 4294967295)
        )

    def _call(self, op: Operation, name: str, duration: int) -> Call:
        self.correlation += 1
        start = self.now
        end = start + duration
        call = Call(name, start, end, self.thread, self.correlation, "backtrace" in op.words)
        if "unrecorded" not in op.words:
            self.recording.calls.append(call)
        self.now = end + us(self.job.call_us["between"]) + self.draw.below(200)
        return call

    def _do_allocate(self, op: Operation) -> None:
        memory, size = op.text("memory", "device"), int(op.settings["bytes"])
        self.allocated[op.words[0]] = memory, size
        name = {"device": "cudaMalloc_v3020", "pinned": "cudaHostAlloc_v3020"}[memory]
        self._note_memory("allocate", memory, size, self._call(op, name, us(float(op.words[1]))))

    def _do_free(self, op: Operation) -> None:
        memory, size = self.allocated.pop(op.words[0])
        name = {"device": "cudaFree_v3020", "pinned": "cudaFreeHost_v3020"}[memory]
        self._note_memory("free", memory, size, self._call(op, name, us(float(op.words[1]))))

    def _note_memory(self, operation: str, memory: str, size: int, call: Call) -> None:
        event = MemoryEvent(call.end - 700, operation, memory, size, call.correlation)
        self.recording.memory_events.append(event)

    # Device

    def _do_record(self, op: Operation) -> None:
        stream = self.job.streams[op.text("on", "compute")]
        call = self._call(op, "cudaEventRecord_v3020", us(self.job.call_us["event"]))
        event = self.events.get(op.words[0], (len(self.events) + 1, 0))[0]
        self.events[op.words[0]] = (event, max(call.end, self.free.get(stream, 0)))
        self.recording.event_records.append(EventRecord(stream, call.correlation, event))

    def _do_wait(self, op: Operation) -> None:
        stream = self.job.streams[op.text("on", "compute")]
        call = self._call(op, "cudaStreamWaitEvent_v3020", us(self.job.call_us["event"]))
        event, done = self.events[op.words[0]]
        self.free[stream] = max(self.free.get(stream, 0), done + op.ns("latency", 0.0))
        self.recording.syncs.append(
            Sync(call.start + 200, call.end - 100, stream, call.correlation, 2, event)
        )

    def _begin(self, op: Operation, stream: int, launched: int) -> int:
        """When work launched at `launched` starts on its stream."""
        reached = launched + op.ns("latency", self.job.call_us["latency"])
        free = self.free.get(stream, 0) - op.ns("early", 0.0)
        return max(reached + self.draw.below(150), free)

    def _put(self, op: Operation, work: Activity) -> None:
        if "unrecorded" in op.words:
            work.call = None
        self.free[work.stream] = max(self.free.get(work.stream, 0), work.end)
        work.step = self.step
        self.recording.activities.append(work)

    def _do_launch(self, op: Operation) -> None:
        stream = self.job.streams[op.text("on", "compute")]
        start = self._begin(op, stream, self.now)
        kernel = self.job.kernels[op.words[0]]
        call_name = op.text("call", kernel.get("call", "cudaLaunchKernel_v7000"))
        call = self._call(op, call_name, op.ns("call_us", self.job.call_us["launch"]))
        end = start + us(float(op.words[1])) + self.draw.below(400)
        work = Activity("kernel", kernel["name"], stream, start, end, call.correlation, call, None)
        work.kernel = op.words[0]
        self._put(op, work)

    def _do_collective(self, op: Operation) -> None:
        stream = self.job.streams[op.text("on", "nccl")]
        start = self._begin(op, stream, self.now)
        kernel = self.job.kernels[op.words[0]]
        call = self._call(op, "cudaLaunchKernelExC_v11060", us(self.job.call_us["launch"]))
        group = self._communicator(op.settings["group"]) if "group" in op.settings else None
        whole = group
        if group and "peer" in op.settings:  # of a communicator only two meet
            pair = sorted([int(op.settings["peer"]), self.process.rank or 0])
            group = replace(group, ranks=tuple(pair))
        index = sum(entry.communicator == group for entry in self.recording.entries)
        peers = self.peers.get(group, [])
        entered = [*(peers[index] if index < len(peers) else []), start]
        transfer = us(float(op.words[1])) + Draw(index + 1).below(9000)
        tail = TAILS_NS[(self.job.processes.index(self.process) + index) % len(TAILS_NS)]
        end = max(entered) + transfer + tail
        work = Activity("kernel", kernel["name"], stream, start, end, call.correlation, call, None)
        work.kernel = op.words[0]
        self._put(op, work)
        size = int(op.settings["bytes"])
        self.recording.entries.append(
            Entry(op.text("op", "all_reduce"), size, self.step, start, end, group)
        )
        if whole and self.open and self.open[-1].name.startswith("nccl"):
            self.open[-1].payload = {
                "NCCL communicator ID": whole.number, "Message size [bytes]": size,
                **({"Reduction operation": "Sum"} if "reduce" in op.text("op", "") else {}),
                **({"Root": int(op.settings["root"])} if "root" in op.settings else {}),
                **({"Peer rank": whole.ranks.index(int(op.settings["peer"]))}
                   if "peer" in op.settings else {}),
            }  # fmt: skip

    def _communicator(self, name: str) -> Communicator:
        return self.job.communicator(name, self.process.rank)

    def _do_communicator(self, op: Operation) -> None:
        """A communicator is made."""
        made, rank = self._communicator(op.words[0]), self.process.rank or 0
        opened = Range("ncclCommInitRankConfig", "NCCL", self.thread, self.now, step=self.step)
        opened.is_registered = True
        opened.payload = {
            "NCCL communicator ID": made.number, "No. of ranks": len(made.ranks),
            "Rank": made.ranks.index(rank), "CUDA device": self.process.device,
        }  # fmt: skip
        self.recording.ranges.append(opened)
        self.now += us(float(op.words[1])) + self.draw.below(300)
        opened.end = self.now
        self.now += 150

    def _do_copy(self, op: Operation) -> None:
        stream = self.job.streams[op.text("on", "compute")]
        kind, source, target = op.words[:3]
        start = self._begin(op, stream, self.now)
        end = start + us(float(op.words[3])) + self.draw.below(400)
        is_blocking = BLOCKING in (source, target)
        duration = us(self.job.call_us["copy"])
        if is_blocking:  # the call returns when the copy is done
            duration = end - self.now + op.ns("back", self.job.call_us["sync_return"])
        call = self._call(op, "cudaMemcpyAsync_v3020", duration)
        work = Activity("copy", kind, stream, start, end, call.correlation, call, None)
        work.bytes, work.source, work.target = int(op.settings["bytes"]), source, target
        work.is_blocking = is_blocking
        self._put(op, work)

    def _do_memset(self, op: Operation) -> None:
        stream = self.job.streams[op.text("on", "compute")]
        start = self._begin(op, stream, self.now)
        end = start + us(float(op.words[0])) + self.draw.below(400)
        call = self._call(op, "cudaMemsetAsync_v3020", us(self.job.call_us["launch"]))
        work = Activity("memset", "memset", stream, start, end, call.correlation, call, None)
        work.bytes = int(op.settings["bytes"])
        self._put(op, work)

    def _do_graph(self, op: Operation) -> None:
        """One launch of a graph: its nodes in a row, `apart` ns of idle time between them."""
        stream = self.job.streams[op.text("on", "compute")]
        at = self._begin(op, stream, self.now)
        call = self._call(op, "cudaGraphLaunch_v10000", us(self.job.call_us["launch"]))
        number = list(self.job.graphs).index(op.words[0]) + 1
        for node, line in enumerate(self.job.graphs[op.words[0]]):
            key, duration, apart = line.split()
            begin = at + us(float(apart))
            at = begin + us(float(duration)) + self.draw.below(200)
            name = self.job.kernels[key]["name"]
            work = Activity("kernel", name, stream, begin, at, call.correlation, call, self.step)
            work.kernel, work.graph_node = key, (number << 32) + node + 1
            self.recording.graph_nodes.append(work)
        start = min(work.start for work in self.recording.graph_nodes if work.call is call)
        whole = Activity(
            "graph", f"graph {number}", stream, start, at, call.correlation, call, None
        )
        whole.step, whole.graph_node = self.step, number
        self.free[stream] = at
        self.recording.graph_launches.append(whole)


def meetings(recordings: list[Recording]) -> dict[Communicator | None, list[Recording]]:
    """Each communicator in which something happened, and who took part."""
    found: dict[Communicator | None, list[Recording]] = {}
    for recording in recordings:
        for group in dict.fromkeys(entry.communicator for entry in recording.entries):
            found.setdefault(group, []).append(recording)
    return found


def parts(recordings: list[Recording], group: Communicator | None) -> list[tuple[Entry, ...]]:
    """The collectives of one communicator: each is the entries of all who took part."""
    entries = [
        [e for e in recording.entries if e.communicator == group] for recording in recordings
    ]
    return list(zip(*entries, strict=True))


def simulate(job: Job) -> list[Recording]:
    """Every process of the job, played together."""
    peers: Meetings = {}
    while True:
        recordings = [Player(job, process, peers).play() for process in job.processes]
        starts = {
            group: [[entry.start for entry in entries] for entries in parts(members, group)]
            for group, members in meetings(recordings).items()
        }
        if starts == peers:
            return recordings
        peers = starts
