"""Logs of training jobs: what each step took, as the job's own framework printed it.

One file may hold several frameworks' lines, ranks and attempts, and much else. The lines are
found by a few texts that each of them contains; only these are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.readers.record import (
    Facts,
    Head,
    Hints,
    Issue,
    Part,
    Recording,
    row_batches,
)
from pipeline.readers.text import Skipped, rank_in_name, without_escapes
from pipeline.readers.training_argument import Arguments
from pipeline.readers.training_deepspeed import DeepSpeed
from pipeline.readers.training_entry import Quoted, Source, Unreadable
from pipeline.readers.training_hf_trainer import HfTrainer
from pipeline.readers.training_lightning import Lightning
from pipeline.readers.training_lines import Line, lines_with, lines_with_in
from pipeline.readers.training_megatron import Megatron
from pipeline.readers.training_nanogpt import NanoGpt
from pipeline.readers.training_olmo import Olmo
from pipeline.readers.training_rows import Rows
from pipeline.readers.training_torchtitan import TorchTitan

FORMAT = "training-log"
SUFFIXES: tuple[str, ...] = ()

_SOURCES: tuple[Callable[[], Source], ...] = (
    Megatron,
    DeepSpeed,
    TorchTitan,
    Lightning,
    NanoGpt,
    HfTrainer,
    Olmo,
)
_DEEPSPEED_VERSION = re.compile(r"DeepSpeed info: version=([\w.+]{1,40}),")
# The beginning of a step's own text where a needle stands within it.
_OWN_BEFORE = re.compile(
    rb"(?:\w{1,24}[:=]\s{0,8}[\w.+\-]{1,24}|iter \S{1,16}|\w{1,12}:\S{1,16} ?"
    rb"|global_step=\S{1,24},? \w{0,10})$"
)
_VERSION_NEEDLE = b"DeepSpeed info: version="
# After the last step each of them says that the job did not end by itself.
_ENDS = {
    b"Traceback (most recent call last)": "a traceback",
    b"srun: error: ": "an error of srun",
    b" DUE TO TIME LIMIT ": "the time limit",
}


def recognise(head: Head) -> bool:
    """Whether a line tells of a step, or a job's arguments are printed."""
    text = head.text
    if not text:
        return False
    raw = text.encode("utf-8", "replace")
    if b" arguments -" in raw:
        arguments = Arguments()
        for line in lines_with_in(raw, Arguments.NEEDLES):
            arguments.add(line)
        if arguments.dumps and arguments.rows():
            return True
    sources = _Sources()
    for line in lines_with_in(raw, sources.needles):
        for source in sources.of(line):
            try:
                if any(not entry.is_supplement for entry in source.entries(line)):
                    return True
            except Quoted:
                continue
            except Unreadable:
                return True  # broken, but a step of this format: read says where
    return any(sources.rest())


def read(path: Path, name: str, pieces: int, hints: Hints) -> Recording:
    """The steps of a log, and the arguments of its job."""
    del pieces, hints
    log = _Log(path, name)
    recording = log.recording
    recording.parts.append(Part("training_step", log.batches))
    recording.closing_parts.append(Part("job_argument", log.arguments))
    return recording


class _Sources:
    """Every framework, and which of them a line is for."""

    def __init__(self) -> None:
        self._all = [source() for source in _SOURCES]
        self._of: dict[frozenset[bytes], list[Source]] = {}
        self.needles = [needle for source in self._all for needle in source.NEEDLES]

    def rest(self) -> Iterator[tuple[str, int, str]]:
        """What no step was found for: reason, line and text."""
        for source in self._all:
            yield from getattr(source, "rest", tuple)()

    def of(self, line: Line) -> list[Source]:
        if line.needles not in self._of:
            chosen = [s for s in self._all if not line.needles.isdisjoint(s.NEEDLES)]
            self._of[line.needles] = chosen
        return self._of[line.needles]


class _Log:
    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._rows = Rows()
        self._arguments = Arguments()
        self._skipped = Skipped()
        self._count = 0
        self._has_broken_step = False
        self._last_step_at = 0
        self._end: tuple[str, int] | None = None
        self._is_torn = False
        self.recording = Recording(Facts(FORMAT, rank=rank_in_name(name)), [])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Steps as record batches; when they are through, facts and issues are known."""
        yield from row_batches("training_step", self._steps())
        self._conclude()

    def arguments(self) -> Iterator[pa.RecordBatch]:
        """The job's arguments, known when its steps have been read."""
        yield from row_batches("job_argument", self._arguments.rows())

    def _steps(self) -> Iterator[dict[str, object]]:
        sources = _Sources()
        needles = dict.fromkeys([*sources.needles, *Arguments.NEEDLES, _VERSION_NEEDLE, *_ENDS])
        for line in lines_with(self._path, list(needles)):
            for row in self._of_line(line, sources.of(line)):
                self._count += 1
                yield row
        for reason, number, text in sources.rest():
            self._skipped.add(reason, number, text)
            self._has_broken_step = True
        for row in self._rows.rest():
            self._count += 1
            yield row

    def _of_line(self, line: Line, sources: list[Source]) -> Iterator[dict[str, object]]:
        if sources and line.is_cut:
            self._skipped.add("a line too long", line.number, "")
            return
        for source in sources:
            try:
                for entry in source.entries(line):
                    self._last_step_at = line.number
                    yield from self._rows.add(entry)
            except Unreadable as error:
                self._skipped.add(str(error), line.number, _quoted(line, source))
                self._is_torn = line.is_torn
                self._has_broken_step |= not isinstance(error, Quoted)
        for needle, what in _ENDS.items():
            if needle in line.needles:
                self._end = what, line.number
        if not line.needles.isdisjoint(Arguments.NEEDLES):
            dumps = self._arguments.dumps
            self._arguments.add(line)
            if self._arguments.dumps > dumps:
                yield from self._rows.restart()
            self._rows.log_interval = self._arguments.log_interval
        if _VERSION_NEEDLE in line.needles and (found := _DEEPSPEED_VERSION.search(line.text)):
            self.recording.facts.tool_version = f"DeepSpeed {found[1]}"

    def _conclude(self) -> None:
        facts, rows = self.recording.facts, self._rows
        for issue in self._skipped.issues():
            self.recording.report(issue)
        for note, count in rows.notes.items():
            place = f"line {rows.noted_at[note]}"
            self.recording.report(Issue("note", place, note, row_count=count))
        if rows.first and rows.first.is_utc:
            facts.capture_start_utc_ns = rows.first.ns
        elif rows.first:
            facts.capture_start_local_ns = rows.first.ns
        if rows.first and rows.latest and rows.latest.is_utc == rows.first.is_utc:
            facts.capture_dur_ns = max(0, rows.latest.ns - rows.first.ns)
        facts.status, facts.status_reason = rows.status()
        if self._is_torn:
            facts.status, facts.status_reason = "incomplete", "its last line is cut"
        elif self._end and self._end[1] > self._last_step_at and facts.status == "unknown":
            what, at = self._end
            facts.status = "incomplete"
            facts.status_reason = f"{facts.status_reason}; {what} at line {at}"
        if not self._count and (self._has_broken_step or not self._arguments.rows()):
            self.recording.refusal = self._skipped.refusal(
                "no step of this training log can be read",
                "take the log from where the job wrote it, not from a copy of a terminal",
            )


def _quoted(line: Line, source: Source) -> str:
    """A line from where it speaks of a step: what stands before may be anything."""
    at = min(line.raw.find(needle) for needle in source.NEEDLES if needle in line.raw)
    before = _OWN_BEFORE.search(line.raw[max(0, at - 80) : at])
    at -= len(before[0]) if before else 0
    return without_escapes(line.raw[at:].decode("utf-8", "replace"))
