"""Run a command and say what it cost: time, CPU and memory of its whole process tree.

`measure(["sleep", "1"])` starts the command as its own session and, while it runs, adds up
the memory of the process and everything it started, every 30 ms (Linux: from /proc).
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.03
TAIL_BYTES = 4_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measurement:
    wall_s: float
    cpu_s: float  # user + system of the process and all it waited for
    peak_rss_bytes: int  # pages shared between its processes count once for each
    peak_anonymous_bytes: int  # without pages of files: what it allocated
    foreign_cores: float  # cores that everything else on the machine used meanwhile
    exit_code: int
    stdout: str  # the end of it
    stderr: str


def measure(command: Sequence[str | Path], *, cwd: Path | None = None) -> Measurement:
    """Run `command` to its end and measure it. A command that fails is measured too."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        busy = _busy_s()
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        memory = _TreeMemory(process.pid)
        memory.start()
        try:
            # Not process.wait(): only wait4 tells what this one child and its children used.
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
        finally:
            memory.stop()
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        return Measurement(
            wall_s=wall,
            cpu_s=cpu,
            peak_rss_bytes=memory.peak_rss_bytes,
            peak_anonymous_bytes=memory.peak_anonymous_bytes,
            foreign_cores=max(0.0, _busy_s() - busy - cpu) / wall,
            exit_code=process.returncode,
            stdout=_tail(stdout.fileno()),
            stderr=_tail(stderr.fileno()),
        )


class _TreeMemory(threading.Thread):
    """Follows the memory of a process and everything it starts."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root = root
        self.tree = {root}
        self.seen: set[int] = set()  # every process is asked for its parent only once
        self.peak_rss_bytes = 0
        self.peak_anonymous_bytes = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while True:
            self._sample()
            if self.ended.wait(POLL_S):
                return

    def stop(self) -> None:
        self.ended.set()
        self.join()

    def _sample(self) -> None:
        alive = {int(name) for name in os.listdir("/proc") if name.isdecimal()}
        for pid in sorted(alive - self.seen):  # parents mostly have the smaller number
            parent, session = _parent_and_session(pid)
            if parent in self.tree or session == self.root:
                self.tree.add(pid)
        self.seen = alive
        self.tree &= alive | {self.root}
        sizes = [_memory(pid) for pid in self.tree]
        rss = sum(size.get("VmRSS", 0) for size in sizes)
        # The kernel remembers each process's own peak, which falls between two polls.
        own_peaks = [size.get("VmHWM", 0) for size in sizes]
        self.peak_rss_bytes = max(self.peak_rss_bytes, rss, *own_peaks, 0)
        anonymous = sum(size.get("RssAnon", 0) for size in sizes)
        self.peak_anonymous_bytes = max(self.peak_anonymous_bytes, anonymous)


def _parent_and_session(pid: int) -> tuple[int, int]:
    try:
        # The name, in parentheses, may hold anything; the fields after it are plain.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return 0, 0
    return int(fields[1]), int(fields[3])


def _memory(pid: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines if line.startswith(("Vm", "Rss")))
    return {name: int(value.split()[0]) * 1024 for name, _, value in pairs}


def _busy_s() -> float:
    """CPU time that the whole machine has spent working since it started."""
    user, nice, system, _idle, _iowait, irq, softirq = (
        int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:8]
    )
    return (user + nice + system + irq + softirq) / TICKS_PER_S


def _tail(file: int) -> str:
    size = os.fstat(file).st_size
    start = max(0, size - TAIL_BYTES)
    return os.pread(file, TAIL_BYTES, start).decode(errors="replace").strip()
