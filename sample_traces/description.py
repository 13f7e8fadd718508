"""Reads a job's description (`jobs/<job>.toml`) into plain data.

A program is text, one operation a line: a verb, its words, then `key=value` settings.
`steps=1,2` and `ranks=0` on a line restrict it. The verbs are listed in README.md.
"""

import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

JOBS = Path(__file__).parent / "jobs"


@dataclass(frozen=True)
class Operation:
    """One line of a program."""

    verb: str
    words: tuple[str, ...]
    settings: dict[str, str]

    def text(self, key: str, default: str) -> str:
        """A setting as it stands."""
        return self.settings.get(key, default)

    def ns(self, key: str, default_us: float) -> int:
        """A setting written in microseconds."""
        return us(float(self.settings.get(key, default_us)))

    def applies(self, step: int | None, rank: int | None) -> bool:
        """Whether the line's `steps=` and `ranks=` let it run here."""
        return all(
            key not in self.settings or str(at) in self.settings[key].split(",")
            for key, at in (("steps", step), ("ranks", rank))
        )


@dataclass(frozen=True)
class Process:
    """One process of the job."""

    pid: int
    host: str
    program: str
    name: str
    command: str
    rank: int | None = None
    local_rank: int | None = None
    device: int = 0  # CUDA ordinal inside the process
    gpu: int = 0  # id of the GPU on its host
    capture_begins_us: float = 0.0  # zero of its file, on the job's clock
    program_begins_us: float = 2000.0
    environment: dict[str, str] = field(default_factory=dict)
    domains: dict[str, int] = field(default_factory=dict)  # NVTX domain -> id in this process


@dataclass(frozen=True)
class TraceFile:
    """One file to write."""

    name: str
    exporter: str
    pids: tuple[int, ...]
    graph_trace: str = "graph"  # or "node"
    metrics_form: str = "table"  # or "json"
    time_shift: bool = False
    lazy: bool = True  # leave out tables without rows
    payloads: str = ""  # NCCL's: "blob", "json" (in place) or "json_id" (in the string table)


@dataclass(frozen=True)
class Communicator:
    """Ranks that meet in collectives; several may have one name, of which a rank is in one."""

    name: str
    id: str  # hexadecimal, 64 bits
    ranks: tuple[int, ...]

    @property
    def number(self) -> int:
        """The id as NCCL has it."""
        return int(self.id, 16)


@dataclass(frozen=True)
class Job:
    """All of one description."""

    name: str
    title: str
    steps: int
    epoch_ns: int  # UTC of the job's time zero
    hosts: dict[str, dict[str, Any]]
    gpu: dict[str, Any]
    processes: list[Process]
    files: list[TraceFile]
    streams: dict[str, int]
    threads: dict[str, int]
    kernels: dict[str, dict[str, Any]]
    graphs: dict[str, list[str]]
    programs: dict[str, dict[str, list[Operation]]]
    call_us: dict[str, float]
    late: dict[str, Any]
    gpu_metrics: dict[str, Any]
    diagnostics: list[dict[str, Any]]
    overheads: list[dict[str, Any]]
    environment: dict[str, str]
    private: dict[str, str]
    communicators: list[Communicator]

    def communicator(self, name: str, rank: int | None) -> Communicator:
        """The one of that name in which the rank is."""
        return next(c for c in self.communicators if c.name == name and rank in c.ranks)

    def utc_epoch_ns(self, process: Process) -> int:
        """What the process's file says its zero is; wrong by the error of its host's clock."""
        error = us(self.hosts[process.host]["clock_error_us"])
        return self.epoch_ns + us(process.capture_begins_us) + error

    def gpu_identity(self, host: str, gpu: int) -> tuple[str, str]:
        """The UUID and the PCI address of one GPU of one host."""
        number = list(self.hosts).index(host) + 1
        return (
            f"5a3c1e70-0000-4000-8000-{number:04d}{gpu:08d}",
            f"0000:{0x1B + gpu * 0x28:02x}:00.0",
        )


def us(value: float) -> int:
    """Microseconds as whole nanoseconds."""
    return round(value * 1000)


def global_pid(process: Process) -> int:
    """The process's serialised id: the machine in the top byte, then the pid."""
    return (1 << 48) + (process.pid << 24)


def job_names() -> list[str]:
    """Every job that is described as a whole; `<job>.<format>.toml` adds files to one."""
    return sorted(path.stem for path in JOBS.glob("*.toml") if "." not in path.stem)


def _table(name: str) -> dict[str, Any]:
    """A job's TOML, laid over the one it is `same_as`; of programs, part by part."""
    own = tomllib.loads((JOBS / f"{name}.toml").read_text(encoding="utf-8"))
    if "same_as" not in own:
        return own
    below = _table(own["same_as"])
    programs = {
        program: {**below["programs"].get(program, {}), **own["programs"].get(program, {})}
        for program in {**below["programs"], **own.setdefault("programs", {})}
    }
    return {**below, **own, "programs": programs}


def parse(text: str) -> list[Operation]:
    """A program's lines as operations."""
    operations = []
    for line in text.splitlines():
        parts = shlex.split(line, comments=True)
        if parts:
            settings = dict(part.split("=", 1) for part in parts[1:] if _is_setting(part))
            words = tuple(part for part in parts[1:] if not _is_setting(part))
            operations.append(Operation(parts[0], words, settings))
    return operations


def _is_setting(part: str) -> bool:
    key, equals, _ = part.partition("=")
    return bool(equals) and key.isidentifier() and " " not in part


def load(name: str) -> Job:
    """The description of one job."""
    table = _table(name)
    communicators = [
        Communicator(**{**row, "ranks": tuple(row["ranks"])})
        for row in table.get("communicators", [])
    ]
    files = [TraceFile(**{**row, "pids": tuple(row["pids"])}) for row in table["files"]]
    programs = {
        program: {part: parse(text) for part, text in parts.items()}
        for program, parts in table["programs"].items()
    }
    optional: dict[str, Any] = {
        "graphs": {}, "late": {}, "gpu_metrics": {}, "diagnostics": [], "overheads": [],
        "environment": {}, "private": {}, "kernels": {},
    }  # fmt: skip
    given = {key: table.get(key, empty) for key, empty in optional.items()}
    required = ("title", "steps", "epoch_ns", "hosts", "gpu", "streams", "threads", "call_us")
    return Job(
        name=name,
        processes=[Process(**row) for row in table["processes"]],
        files=files,
        programs=programs,
        communicators=communicators,
        **{key: table[key] for key in required},
        **given,
    )
