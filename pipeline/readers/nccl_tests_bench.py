"""The reader of all_reduce_bench.py: all_reduce through PyTorch, timed by every rank.

Each rank prints ``RANK:``, its duration, throughput and busbw, and ranks print at once, so
their lines are mixed: a duration and a throughput belong together when their product is the
payload. Gbps are bits. The script's throughput counts the payload twice; in terms of nccl-tests
algbw is half of it (payload / time), and busbw is the same thing in both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers.nccl_tests_lines import library
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Issue,
    Part,
    Recording,
    row_batches,
)
from pipeline.readers.text import Skipped, lines

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "all-reduce-bench"
SUFFIXES: tuple[str, ...] = ()

_TEST = "all_reduce_bench.py"
_SIGN = re.compile(r"^ ?algo throughput: [^\s{}]{1,40} bps, [^\s{}]{1,40} Gbps", re.MULTILINE)
_RANK = re.compile(r"(\d{1,8}):$")
_SIZE = re.compile(r"(?:(\d{1,8}) )?data size: (\d{1,9}(?:\.\d{1,6})?) GB$")
_DURATION = re.compile(r" ?duration: (\d{1,9}\.\d{1,9}) sec$")
_SPEED = re.compile(r" ?algo throughput: (\d{1,20}\.\d{1,9}) bps, \d{1,12}\.\d{1,9} Gbps$")
_BUSBW = re.compile(r" ?busbw: (\d{1,12}\.\d{1,9})  ?Gbps$")
# Ranks whose numbers are not whole yet.
_MOST_WAITING = 4096
_CALLED = re.compile(r" ?(?:algo throughput|busbw|duration): [^{}]*(?:bps|sec)$")


@dataclass
class _Timing:
    """What one rank printed of one round, as far as it is known."""

    line: int
    rank: int | None
    duration: Decimal
    speed: Decimal | None = None


@dataclass
class _Log:
    path: Path
    size: int | None = None
    nccl_version: str | None = None
    row_count: int = 0
    skipped: Skipped = field(default_factory=Skipped)
    first_line: int | None = None
    _ranks: list[int] = field(default_factory=list)
    _seen_ranks: set[int] = field(default_factory=set)
    _rounds: Counter[int | None] = field(default_factory=Counter)
    _waiting: list[_Timing] = field(default_factory=list)

    def rows(self) -> Iterator[dict[str, object]]:
        for number, line in lines(self.path):
            if " NCCL " in line or len(line) > 200:
                continue
            text = line.rstrip()
            if found := _SIZE.match(text):
                self._payload(number, found)
            elif found := _RANK.match(text):
                self._ranks.append(int(found[1]))
                self._seen_ranks.add(int(found[1]))
            elif found := _DURATION.match(text):
                self._duration(number, Decimal(found[1]))
            elif found := _SPEED.match(text):
                self._speed(number, text, Decimal(found[1]))
            elif found := _BUSBW.match(text):
                yield from self._busbw(number, text, Decimal(found[1]))
            elif _CALLED.match(text):
                self.skipped.add("a line that is not whole", number, text)
            elif (version := library(text)) and not self.nccl_version:
                self.nccl_version = version
        for timing in self._waiting:
            self.skipped.add("a round without all its numbers", timing.line, "duration")

    def _payload(self, number: int, found: re.Match[str]) -> None:
        self.first_line = self.first_line or number
        if found[1]:
            self._seen_ranks.add(int(found[1]))
        self.size = int((Decimal(found[2]) * 10**9).to_integral_value())

    def _duration(self, number: int, duration: Decimal) -> None:
        self.first_line = self.first_line or number
        # Two ranks before the first duration: nothing says whose it is.
        rank = self._ranks.pop() if len(self._ranks) == 1 else None
        if rank is None and self._ranks:
            self._ranks.pop()
        if len(self._waiting) >= _MOST_WAITING:
            old = self._waiting.pop(0)
            self.skipped.add("a round without all its numbers", old.line, "duration")
        self._waiting.append(_Timing(number, rank, duration))

    def _speed(self, number: int, text: str, speed: Decimal) -> None:
        fitting = [t for t in self._waiting if t.speed is None and self._is_payload(t, speed)]
        if not fitting:
            self.skipped.add("a throughput without its duration", number, text)
            return
        fitting[0].speed = speed
        if len(fitting) > 1:
            for timing in fitting:  # equal durations: nothing says which is whose
                timing.rank = None

    def _is_payload(self, timing: _Timing, speed: Decimal) -> bool:
        if self.size is None or not timing.duration:
            return False
        exact = Decimal(16 * self.size) / speed if speed else Decimal(0)
        return abs(exact - timing.duration) <= Decimal(1).scaleb(_exponent(timing.duration)) / 2

    def _busbw(self, number: int, text: str, busbw: Decimal) -> Iterator[dict[str, object]]:
        fitting = [t for t in self._waiting if t.speed is not None and self._is_factor(t, busbw)]
        if not fitting:
            self.skipped.add("a busbw without its throughput", number, text)
            return
        chosen = fitting[0]  # another that fits has the same busbw to come
        self._waiting.remove(chosen)
        self.row_count += 1
        yield self._row(chosen, busbw)

    def _is_factor(self, timing: _Timing, busbw: Decimal) -> bool:
        """Whether busbw is (n-1)/n of the throughput for the ranks that have spoken so far."""
        n = self.nranks
        if timing.speed is None or n is None:
            return False
        speed = timing.speed.scaleb(-9)
        # The throughput has so many digits that only the rounding of busbw counts.
        return abs(speed * (n - 1) / n - busbw) <= Decimal("0.501").scaleb(_exponent(busbw))

    @property
    def nranks(self) -> int | None:
        """Ranks that have spoken, None when there are gaps between them."""
        count = len(self._seen_ranks)
        return count if self._seen_ranks and max(self._seen_ranks) == count - 1 else None

    def _row(self, timing: _Timing, busbw: Decimal) -> dict[str, object]:
        assert timing.speed is not None and self.size is not None
        self._rounds[timing.rank] += 1
        n = self.nranks or 1
        sweep = self._rounds[timing.rank] - 1 if timing.rank is not None else self.row_count // n
        return {
            "benchmark_id": 0,
            "sweep": sweep,
            "test": _TEST,
            "op": "all_reduce",
            "nranks": self.nranks,
            "size_bytes": self.size,
            "is_in_place": True,
            "time_ns": int((timing.duration * 10**9).to_integral_value()),
            "is_time_host": False,
            "algbw_bytes_per_s": float(timing.speed / 16),
            "busbw_bytes_per_s": float((busbw / 8).scaleb(9)),
            "rank": timing.rank,
            "is_consistent": True,  # numbers that do not agree were not put together
            "line": timing.line,
        }


def _exponent(value: Decimal) -> int:
    return int(value.as_tuple().exponent)


def recognise(head: Head) -> bool:
    """Whether the text has throughputs as all_reduce_bench.py prints them."""
    return "algo throughput" in head.text and bool(_SIGN.search(head.text))


def read(path: Path, name: str, pieces: int, hints: Hints = NO_HINTS) -> Recording:
    """One row of ``collective_benchmark`` per rank and round, one test."""
    log = _Log(path)
    recording = Recording(Facts(FORMAT), [])

    def batches() -> Iterator[pa.RecordBatch]:
        yield from row_batches("collective_benchmark", log.rows())
        _conclude(recording, log)

    def run() -> Iterator[pa.RecordBatch]:
        yield from row_batches("collective_benchmark_run", [_run_row(recording.facts, log)])

    recording.parts.append(Part("collective_benchmark", batches))
    recording.closing_parts.append(Part("collective_benchmark_run", run))
    return recording


def _conclude(recording: Recording, log: _Log) -> None:
    way_out = "write each rank's output to a file of its own"
    if not log.row_count:
        recording.refusal = log.skipped.refusal(
            "no round of all_reduce_bench.py can be read", way_out
        )
    for issue in log.skipped.issues(way_out):
        recording.report(issue)
    facts = recording.facts
    is_whole = log.nranks and log.row_count % log.nranks == 0 and not log.skipped.count
    facts.status = "unknown" if is_whole else "incomplete"
    facts.status_reason = (
        "the script prints no end" if is_whole else "not every rank has printed every round"
    )
    recording.report(
        Issue(
            "note",
            "",
            "all_reduce_bench.py counts the payload twice and in bits: algbw is stored as "
            "payload / time in bytes/s, as nccl-tests prints it",
        )
    )


def _run_row(facts: Facts, log: _Log) -> dict[str, object]:
    return {
        "benchmark_id": 0,
        "tool": _TEST,
        "test": _TEST,
        "op": "all_reduce",
        "op_source": "printed",
        "nccl_version": log.nccl_version,
        "nranks": log.nranks,
        "nranks_source": "printed" if log.nranks else None,
        "is_interleaved": False,
        "is_blocking": False,
        "has_parallel_init": False,
        "has_iteration_report": False,
        "status": "incomplete" if facts.status == "incomplete" else "complete",
        "status_reason": facts.status_reason,
        "failure_count": 0,
        "row_count": log.row_count,
        "first_line": log.first_line,
    }
