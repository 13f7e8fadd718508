"""``nvidia-smi nvlink -s``: the state of each NVLink of each GPU, or a sentence instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.readers.foreign_lines import Strays, begins_other, is_of_other
from pipeline.readers.launcher_prefix import host_in
from pipeline.readers.printed_numbers import scaled
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Part,
    Recording,
    row_batches,
)
from pipeline.readers.text import Skipped, ends_whole, lines, without_escapes

Row = dict[str, object]

FORMAT = "nvidia-smi-nvlink"
SUFFIXES: tuple[str, ...] = ()

# "GPU 0: NVIDIA H200 (UUID: GPU-...)", which nvidia-smi -L prints too.
_GPU = re.compile(
    r"(?P<before>.*?)\bGPU (?P<number>\d{1,4}): (?P<product>[^()]{1,80}?)"
    r" \(UUID: GPU-(?P<uuid>[0-9a-fA-F\-]{1,64})\)\s*",
    re.ASCII,
)
_LINK = re.compile(r"\s*Link (?P<number>\d{1,3}): (?P<state>\S[^\n]{0,60})")
_STATE = re.compile(r"(?P<speed>[\d.]{1,12}) GB/s\s*|<inactive>\s*", re.IGNORECASE)
_SENTENCES = (
    (re.compile(r"queries are not supported for Devices in MIG mode"), "mig"),
    (re.compile(r"all links are inActive", re.IGNORECASE), "inactive"),
    (re.compile(r"Device does not have or support Nvlink", re.IGNORECASE), "unsupported"),
)
_IN_TEXT = re.compile(
    r"GPU \d{1,4}: [^\n]{1,120}\(UUID: GPU-[^\n]{1,80}\)[ \t]*\n(?:[ \t]*\n)?[^\n]{0,80}?"
    # Other options print names between: "Link 0: Replay Errors: 0". A state may be damaged.
    r"(?:\bLink \d{1,3}:[^:,\n]{1,60}(?:\n|\Z)|[Nn]vlink|NVML: Unable)"
)
_LONGEST = 1024  # characters of a line
_NOTHING = "a GPU of which nothing is told"
_CUT = "the file ends within the links of a GPU"
_AGAIN = "copy the output of 'nvidia-smi nvlink -s' again"


def recognise(head: Head) -> bool:
    return "(UUID: GPU-" in head.text and bool(_IN_TEXT.search(without_escapes(head.text)))


def read(path: Path, name: str, pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """Rows of ``link``; see :mod:`pipeline.readers` for the arguments."""
    recording = Recording(Facts(FORMAT, host=hints.host), [])
    recording.facts.status_reason = "its end looks like any other line"

    def links() -> Iterator[Row]:
        skipped, count = Skipped(), 0
        for row in _links(path, skipped):
            count += 1
            host = hints.host or row["host"]
            yield {**row, "host": host, "origin": "nvlink", "kind": "nvlink"}
        for issue in skipped.issues(_AGAIN):
            recording.report(issue)
        if count == 0:
            recording.refusal = skipped.refusal("no link is told", _AGAIN)

    recording.parts.append(Part("link", lambda: row_batches("link", links())))
    return recording


@dataclass
class _Gpu:
    """The GPU whose links are being listed."""

    row: Row
    number: int
    before: str  # what a launcher puts before each line
    line: int
    is_told: bool = False
    is_damaged: bool = False  # a link's state is skipped
    is_over: bool = False  # a block of another format began below
    links: set[int] = field(default_factory=set)
    strays: Strays = field(default_factory=Strays)


def _links(path: Path, skipped: Skipped) -> Iterator[Row]:
    """One row per link; one per GPU where a sentence stands for its links."""
    gpu: _Gpu | None = None
    last = 0
    for number, raw in lines(path):
        line, last = without_escapes(raw[:_LONGEST]), number
        if "(UUID:" in line and (found := _GPU.fullmatch(line)):
            if gpu:
                _finish(gpu, skipped, is_followed=True)
            gpu = _next(found, number, gpu)
        elif gpu:
            yield from _content(line.removeprefix(gpu.before), number, gpu, skipped)
    if gpu and not gpu.is_told and not ends_whole(path):
        skipped.add(_CUT, last, "")
    elif gpu:
        _finish(gpu, skipped, is_followed=False)


def _finish(gpu: _Gpu, skipped: Skipped, is_followed: bool) -> None:
    """Nothing more is told of a GPU; lines that are no link's stand within if one follows."""
    if not gpu.is_told and not gpu.is_damaged:
        skipped.add(_NOTHING, gpu.line, gpu.strays.quoted)
    elif is_followed:
        gpu.strays.tell(skipped)


def _next(found: re.Match[str], line: int, before: _Gpu | None) -> _Gpu:
    """A GPU's heading. Numbers that begin anew are another host's, or of another time."""
    number = int(found["number"])
    table = int(str(before.row["table_number"])) + (number <= before.number) if before else 0
    row: Row = {
        "host": host_in(found["before"]),
        "source": f"GPU{number}",
        "product": found["product"].strip(),
        "gpu_id": found["uuid"].lower(),
        "table_number": table,
    }
    return _Gpu(row, number, found["before"].strip(), line)


def _content(line: str, number: int, gpu: _Gpu, skipped: Skipped) -> Iterator[Row]:
    if found := _LINK.fullmatch(line):
        gpu.strays.tell(skipped)
        state, link = _state(found), int(found["number"])
        if state is None:
            gpu.is_damaged = True
            skipped.add("a link without a state", number, line)
        elif link in gpu.links:
            skipped.add("a second state of one link", number, line)
        else:
            gpu.links.add(link)
            gpu.is_told = True
            yield {**gpu.row, "link_number": link, "line": number, **state}
    elif not gpu.is_told and (status := _sentence(line)):
        gpu.is_told = True
        yield {**gpu.row, "status": status, "line": number}
    elif gpu.is_over or begins_other(line, "nvlink"):
        gpu.is_over = True
        gpu.strays.drop()
    elif re.match(r"\s*Link\b", line):
        gpu.is_damaged = True
        skipped.add("a link without a state", number, line)
    elif line.strip() and not is_of_other(line):
        gpu.strays.hold(number, line)


def _state(found: re.Match[str]) -> Row | None:
    """A link's state; None for what other options of nvlink print (-c, -e, -r)."""
    state = _STATE.fullmatch(found["state"])
    if state is None:
        return None
    if state["speed"] is None:
        return {"status": "inactive"}
    speed = scaled(state["speed"], 1_000_000_000)
    if speed is None:
        return None
    return {"status": "active" if speed else "inactive", "bandwidth_bytes_per_s": speed or None}


def _sentence(line: str) -> str | None:
    return next((status for pattern, status in _SENTENCES if pattern.search(line)), None)
