"""The lines of nccl-tests other than rows: what each says.

Most of a log may be NCCL's own messages: :func:`sieve` tells lines apart at the speed of a
search, before any is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# Two numbers and more, or the three points that stand for rows.
_NUMBERS = rb"\d[ \t]+(?:\d+|N/A)(?:[ \t]|$)|^[ \t>#]*\d[\d.]*[ \t]+[\d.]+|\.\.\.[ \t\]]*$"
_NUMBERS += rb"|^[ \t]{4,40}\d+[ \t]*$"
_WORDS = (
    b"-tests", b"nThread", b"Rank ", b"Device ", b"Out of b", b"Avg bus", b"Collective t", b"algbw",
    b"-place", b"(B)", b"ailure ", b"_perf", b"_test", b"CCL v", b"NCCL Tests", b"memory us",
    b"xited", b"xit code", b"CANCELLED", b"Test t", b"srun: e", b"Testing ", b"Enabled:", b"Per-It",
    b"# error: ",
)  # fmt: skip
_ROWS_ONLY = re.compile(_NUMBERS)
_ANY = re.compile(_NUMBERS + b"|" + b"|".join(re.escape(word) for word in _WORDS))
_NOISE = re.compile(rb" NCCL (?:WARN|TRACE|ERROR) ")
# NCCL's message begins with its host, which may be glued to the last cell of a torn row.
_GLUED = re.compile(
    r"(?:\[[\d :.\-]{10,40}\] ?)?[A-Za-z][\w.\-]{0,100}:\d{1,10}:\d{1,10} \[[\d ]{1,6}\] NCCL "
)

_VERSION = re.compile(
    r"(nccl|rccl)-tests(?: version|: Version) (\S{1,80})"
    r"(?: \1-headers=(\d{1,8}) \1-library=(\d{1,8}))?$"
)
_COLLECTIVE = re.compile(r"Collective test (starting|concluded): (\S{1,200})$")
_OPTIONS = re.compile(
    r"nThread (\d{1,6}) nGpus (\d{1,6}) minBytes (\d{1,18}) maxBytes (\d{1,18})"
    r" step: (\d{1,18})\((factor|bytes)\)(.{0,300})"
)
_OPTION = re.compile(
    r"(warmup iters|agg iters|iters|validation|graph|unalign): (-?\d{1,9})(?![\d.])"
)
_RANK = re.compile(
    r"Rank\s+(\d{1,8})(?:\s+Group\s+(\d{1,8}))?(?:\s+Pid\s+(\d{1,10}))?"
    r"\s+on\s+(\S.{0,200}?)\s+device\s+(\d{1,6})\s+\[([0-9a-fA-Fx:.]{2,20})\]\s+(\S.{0,200})$"
)
_DEVICE = re.compile(
    r"Device\s+(\d{1,6}) ->\s+(\d{1,6}) \[([0-9a-fA-Fx:.]{2,20})\]\s+(\S.{0,200})$"
)
_COMPILED = re.compile(r"NCCL Tests compiled with NCCL (\d[\w.+\-]{0,40})$")
_LIBRARY = re.compile(r"[NR]CCL version ?:? ?(\d[\w.+:\-]{0,60})")
_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\d{1,18})(?:\s+(OK|FAILED))?\s*$")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\S{1,30})(?:\s+GB/s)?(?:\s+(OK|FAILED))?\s*$")
_MEMORY = re.compile(r"GPU memory usage\s*:\s*(.{1,200})$")
_AMOUNT = re.compile(
    r"(Initialization|User-Allocated|Collective|Total)\s+(\d{1,9}(?:\.\d+)?) (\w+)"
)
_SCALES = {"B": 0, "KB": 10, "MB": 20, "GB": 30}
_CYCLE = re.compile(r"Testing \d{1,9} cycles?")

_FAILED_CALL = re.compile(
    r"(?:Test )?(NCCL|CUDA|Cuda|HIP) failure (\S{1,300}:\d{1,6}) '(.{0,200}?)(?: / .*)?'?\s*$"
)
_FAILED_TEST = re.compile(r"Test failure (\S{1,300}:\d{1,6})")
_LAST_ERROR = re.compile(r"\s{0,16}# error: (.{1,200})")
_TIMEOUT = re.compile(r"Test timeout \((\d{1,9})s\) (\S{1,300}:\d{1,6})")
_EXIT = re.compile(
    r"exited on signal (?P<signal>\d{1,3})"
    r"|(?P<status>exited with non-zero (?:status|exit code))"
    r"|^\s*Exit code:\s+(?P<code>\d{1,5})\s*$"
    r"|srun: error: [\w.\-]{1,100}: tasks? [\d,\-\[\]]{1,100}: (?P<srun>[A-Z][\w ]{2,40})"
    r"|slurmstepd: error: .{0,100}CANCELLED AT \S{1,40}(?P<slurm> DUE TO [A-Z ]{3,40})?"
)


@dataclass(frozen=True)
class Options:
    """The ``nThread`` line; a value is None where the version does not print it."""

    text: str
    threads: int
    gpus: int
    min_bytes: int
    max_bytes: int
    step: int
    is_factor: bool
    named: dict[str, int]


@dataclass(frozen=True)
class Device:
    """A line of the list of ranks; ``pid`` tells processes apart and is not stored."""

    rank: int
    group: int | None
    pid: int | None
    host: str | None
    device: int
    bus_id: str
    name: str


def sieve(block: bytes) -> Callable[[bytes], bool]:
    """Tells of each line of a block whether it may belong to nccl-tests.

    False for nearly all of NCCL's messages. Words that are nowhere in the block need not be
    looked for in each line.
    """
    search = (_ANY if any(word in block for word in _WORDS) else _ROWS_ONLY).search

    def may_matter(line: bytes) -> bool:
        at = line.find(b" NCCL INFO ")
        if at < 0 and b" NCCL " in line and (other := _NOISE.search(line)):
            at = other.start()
        if at >= 0:
            # A row that a message broke into has been padded with blanks.
            return line.find(b"   ", 0, at) >= 0
        return search(line) is not None

    return may_matter


def before_message(text: str) -> str | None:
    """What stands before a message of NCCL in a line, None if there is no message in it."""
    if " NCCL " not in text:
        return None
    found = _GLUED.search(text)
    return text[: found.start()] if found else None


def version(text: str) -> tuple[str, str, str | None, str | None] | None:
    """Tool, its version, and NCCL's versions at compile and at run time."""
    found = _VERSION.match(text)
    if not found:
        return None
    return f"{found[1]}-tests", found[2], version_of(found[3]), version_of(found[4])


def version_of(code: str | None) -> str | None:
    """NCCL_VERSION_CODE as a version: 22907 -> 2.29.7, before 2.9 2708 -> 2.7.8."""
    if code is None or not int(code):
        return None
    number = int(code)
    major, rest = divmod(number, 10_000 if number >= 10_000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def library(text: str) -> str | None:
    """NCCL's version as NCCL itself prints it."""
    found = _LIBRARY.match(text)
    return found[1] if found else None


def compiled(text: str) -> str | None:
    found = _COMPILED.match(text)
    return found[1] if found else None


def collective(text: str) -> tuple[bool, str] | None:
    """Whether a test starts (or has concluded), and its program."""
    found = _COLLECTIVE.match(text)
    return (found[1] == "starting", found[2].rpartition("/")[2]) if found else None


def options(text: str) -> Options | None:
    found = _OPTIONS.match(text)
    if not found:
        return None
    named = {key: int(value) for key, value in _OPTION.findall(found[7])}
    threads, gpus, least, most, step = (int(found[at]) for at in range(1, 6))
    return Options(found[0], threads, gpus, least, most, step, found[6] == "factor", named)


def device(text: str) -> Device | None:
    """A rank and its GPU; NCCL 1 had one process, whose devices are its ranks."""
    if found := _RANK.match(text):
        rank, group, pid = (None if v is None else int(v) for v in found.groups()[:3])
        host = " ".join(found[4].split())
        assert rank is not None
        return Device(rank, group, pid, host, int(found[5]), _bus(found[6]), found[7].strip())
    if found := _DEVICE.match(text):
        return Device(
            int(found[1]), None, None, None, int(found[2]), _bus(found[3]), found[4].strip()
        )
    return None


def _bus(printed: str) -> str:
    return printed.lower().removeprefix("0x")


def bounds(text: str) -> tuple[int, bool | None] | None:
    """Count of values out of bounds, and whether the tool says OK."""
    found = _BOUNDS.match(text)
    return (int(found[1]), None if found[2] is None else found[2] == "OK") if found else None


def average(text: str) -> tuple[str, bool | None] | None:
    """The average as printed, and the verdict on it where one was asked for."""
    found = _AVERAGE.match(text)
    return (found[1], None if found[2] is None else found[2] == "OK") if found else None


def memory(text: str) -> dict[str, int] | None:
    """Bytes of GPU memory by what took them (-M 1)."""
    found = _MEMORY.match(text)
    if not found:
        return None
    return {
        name: round(float(amount) * 2 ** _SCALES[unit])
        for name, amount, unit in _AMOUNT.findall(found[1])
        if unit in _SCALES
    }


def is_cycle(text: str) -> bool:
    """Whether rccl-tests begins its sizes anew (-s)."""
    return _CYCLE.match(text) is not None


def last_error(text: str) -> str | None:
    """The last error that NCCL remembers at a test's end (since 2.17); the test may be whole."""
    found = _LAST_ERROR.match(text)
    return found[1].strip() if found else None


def failure(text: str) -> str | None:
    """What a line tells of a failure, without paths; None if it tells of none."""
    if found := _FAILED_CALL.search(text):
        said = " ".join(found[3].split()).strip(" '/")
        return f"{found[1].upper()} failure {_place(found[2])}: {said}"
    if found := _TIMEOUT.search(text):
        return f"timeout after {found[1]} s at {_place(found[2])}"
    if found := _FAILED_TEST.search(text):
        return f"test failure {_place(found[1])}"
    if not (found := _EXIT.search(text)):
        return None
    if found["signal"]:
        return f"a process exited on signal {found['signal']}"
    if found["code"]:
        return f"exit code {found['code']}" if found["code"] != "0" else None
    if found["srun"]:
        return found["srun"].strip().lower()
    if found["status"]:
        return "a process exited with a non-zero status"
    return f"cancelled{(found['slurm'] or '').rstrip().lower()}"


def _place(printed: str) -> str:
    return printed.replace("\\", "/").rpartition("/")[2]
