"""The few lines of a long log that hold one of some texts, and the lines after each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pipeline.readers.launcher_prefix import Prefixed, without_prefix
from pipeline.readers.text import blocks, ends_whole, without_escapes

# A console logger spreads a step over some forty lines (OLMo with its evaluations).
LINES_AHEAD = 64
LONGEST_LINE = 64 << 10
# A colour whose escape character a terminal's copy, a filter or ``cat -v`` took or spelt out.
_BARE_COLOUR = re.compile(r"(?:\^\[)?\[\d{1,3}(?:;\d{1,3}){0,4}m(?!\])")


@dataclass(frozen=True)
class Line:
    """A line of a log: its number from 1, its text without escapes, and what follows it.

    ``needles`` are those of the texts looked for that are in it.
    ``is_torn``: the file ends in it, without a newline, so its last word may be cut.
    ``is_cut``: it is longer than any line read here, and ``text`` is its beginning.
    """

    number: int
    raw: bytes
    needles: frozenset[bytes] = frozenset()
    is_torn: bool = False
    is_cut: bool = False
    rest: bytes = field(default=b"", repr=False)
    rest_at: int = 0

    @cached_property
    def text(self) -> str:
        return _uncoloured(self.raw)

    @cached_property
    def printed(self) -> Prefixed:
        """The text without the prefix of its launcher."""
        return without_prefix(self.text)

    def following(self) -> Iterator[str]:
        """The next lines, without prefixes; at most ``LINES_AHEAD``."""
        at = self.rest_at
        for _ in range(LINES_AHEAD):
            end = self.rest.find(b"\n", at)
            if end < 0:
                return
            raw = self.rest[at : min(end, at + LONGEST_LINE)]
            yield without_prefix(_uncoloured(raw)).line
            at = end + 1


def _uncoloured(raw: bytes) -> str:
    return _BARE_COLOUR.sub("", without_escapes(raw.decode("utf-8", "replace")))


def lines_with(path: Path, needles: Sequence[bytes]) -> Iterator[Line]:
    """The lines that hold one of the needles, in their order. Others cost no more than a search."""
    is_torn = not ends_whole(path)
    held, number = b"", 1
    for _, block in blocks(path):
        text = held + block
        cut = _begin_of_last_lines(text)
        yield from _found(text, cut, number, needles)
        number += text.count(b"\n", 0, cut)
        held = text[cut:]
    # A line that breaks off at the end of the file does not follow any: its last word may be cut.
    whole = held[: held.rfind(b"\n", 0, len(held) - 1) + 1] if is_torn else held
    for line in _found(held, len(held), number, needles):
        last = is_torn and line.rest_at >= len(held)
        yield replace(line, is_torn=last, rest=whole)


def lines_with_in(text: bytes, needles: Sequence[bytes]) -> Iterator[Line]:
    """The lines of a text at hand that hold one of the needles."""
    yield from _found(text, len(text), 1, needles)


def _found(text: bytes, cut: int, number: int, needles: Sequence[bytes]) -> Iterator[Line]:
    starts: dict[int, frozenset[bytes]] = {}
    nothing: frozenset[bytes] = frozenset()
    seen: dict[tuple[frozenset[bytes], bytes], frozenset[bytes]] = {}
    for needle in needles:
        at = text.find(needle, 0, cut)
        while at >= 0:
            start = text.rfind(b"\n", 0, at) + 1
            before = starts.get(start, nothing)
            starts[start] = seen.get((before, needle)) or seen.setdefault(
                (before, needle), before | {needle}
            )
            at = text.find(needle, text.find(b"\n", at) + 1 or len(text), cut)
    counted = 0
    for start, found in sorted(starts.items()):
        number += text.count(b"\n", counted, start)
        counted = start
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        raw = text[start : min(end, start + LONGEST_LINE)]
        yield Line(number, raw, found, False, end - start > LONGEST_LINE, text, end + 1)


def _begin_of_last_lines(text: bytes) -> int:
    at = len(text)
    for _ in range(LINES_AHEAD + 1):
        at = text.rfind(b"\n", 0, at)
        if at < 0:
            return 0
    return at + 1
