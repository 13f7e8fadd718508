"""Text files as readers meet them: encodings, line ends, terminals' colours, what was skipped."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from pipeline.archive import text_encoding
from pipeline.readers.record import Issue, Refused

# Longer than any line of the formats read here; what follows in a line is left out.
_LONGEST_LINE = 16 << 20
_BLOCK_BYTES = 8 << 20
_QUOTED = 100
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# rank3, rank_3, global-rank.3; not frank3, and not the rank within a host or of a host.
_RANK_IN_NAME = re.compile(
    r"(?<![a-z])(?<!local[_\-.])(?<!node[_\-.])(?:global[_\-.]?)?rank[_\-.]?(\d{1,9})(?!\d)",
    re.IGNORECASE,
)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file without their ends, numbered from 1.

    UTF-8 and UTF-16, with or without a byte order mark; what is no valid text becomes U+FFFD.
    A carriage return ends a line too: progress bars rewrite theirs.
    """
    with path.open(encoding=_encoding(path), errors="replace", newline=None) as stream:
        number, is_new = 0, True
        while line := stream.readline(_LONGEST_LINE):
            number += is_new
            if is_new:
                yield number, line.removesuffix("\n")
            is_new = line.endswith("\n")


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """A text file as blocks of whole lines in UTF-8, each line ended by a newline alone.

    Each block of about 8 MiB comes with the number of its first line: for readers that decode
    many lines at once.
    """
    encoding = _encoding(path)
    decoder = None
    if encoding != "utf-8":
        decoder = codecs.getincrementaldecoder(encoding)("replace")
    number, rest = 1, b""
    held_blocks: list[bytes] = []  # of a line longer than a block: joined once it ends
    with path.open("rb") as stream:
        while raw := stream.read(_BLOCK_BYTES):
            if decoder:
                raw = decoder.decode(raw).encode("utf-8", "replace")
            if b"\n" not in raw and b"\r" not in raw and not rest.endswith(b"\r"):
                held_blocks.append(raw)
                continue
            raw = b"".join([rest, *held_blocks, raw])
            held_blocks.clear()
            if b"\r" in raw:
                held = raw.endswith(b"\r")  # its newline may be the next byte
                raw = raw[: len(raw) - held].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                raw += b"\r" * held
            cut = raw.rfind(b"\n") + 1
            block, rest = raw[:cut], raw[cut:]
            if block:
                yield number, block
                number += block.count(b"\n")
    rest = b"".join([rest, *held_blocks])
    if decoder:
        rest += decoder.decode(b"", final=True).encode("utf-8", "replace")
    if rest:
        yield number, rest.rstrip(b"\r") + b"\n"


def lines_with_end(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Like :func:`lines`, with whether each line had its end: the last may be torn."""
    held: tuple[int, str] | None = None
    for number, line in lines(path):
        if held:
            yield *held, True
        held = (number, line)
    if held:
        yield *held, ends_whole(path)


def opened(path: Path) -> TextIO:
    """A text file of any encoding, without a byte order mark, for parsers of text."""
    return path.open(encoding=_encoding(path), errors="replace", newline="")


def ends_whole(path: Path) -> bool:
    """Whether a text file ends with the end of a line; without it the last line may be torn."""
    encoding = _encoding(path)
    with path.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - 4))
        end = stream.read()
    if encoding.startswith("utf-16"):
        end = end.replace(b"\0", b"")
    return not end or end.endswith((b"\n", b"\r"))


def _encoding(path: Path) -> str:
    with path.open("rb") as stream:
        return text_encoding(stream.read(4096)) or "utf-8"


def without_escapes(line: str) -> str:
    """The line without a terminal's colours and other escape sequences."""
    return _ESCAPES.sub("", line) if "\x1b" in line else line


def rank_in_name(name: str) -> int | None:
    """The global rank that a file's name tells (``rank3``, ``rank_3``), None if none."""
    found = _RANK_IN_NAME.search(name)
    return int(found[1]) if found and int(found[1]) < 1 << 31 else None


@dataclass
class Skipped:
    """Lines or cells left out, by reason; the first of each is quoted with its number.

    Only lines within the format's own blocks belong here: other lines of a job's output may hold
    anything, its environment included.
    """

    _first: dict[str, tuple[int, str]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, number: int, quoted: str, count: int = 1) -> None:
        """Counts ``count`` rows skipped for ``reason`` at line ``number``."""
        self._first.setdefault(reason, (number, quoted))
        self._counts[reason] = self._counts.get(reason, 0) + count

    @property
    def count(self) -> int:
        return sum(self._counts.values())

    def issues(self, way_out: str = "") -> list[Issue]:
        """One warning per reason, in the order of the first line of each."""
        found = []
        for reason, (number, quoted) in sorted(self._first.items(), key=lambda item: item[1][0]):
            shown = " ".join(quoted.split())
            if len(shown) > _QUOTED:
                shown = shown[:_QUOTED] + "..."
            problem = f"{reason}: '{shown}'" if shown else reason
            found.append(Issue("warning", f"line {number}", problem, way_out, self._counts[reason]))
        return found

    def refusal(self, problem: str, way_out: str) -> Refused:
        """The refusal of a file of which nothing could be kept: with the first line left out."""
        if first := next(iter(self.issues()), None):
            problem = f"{problem}; {first.place}: {first.problem}"
        return Refused(problem, way_out)
