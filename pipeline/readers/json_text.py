"""JSON documents in a text, one after the other, with the faults that tools print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

# Keys without quotes (perftest's "sl: 3") and commas with nothing after them.
_BARE_KEY = re.compile(r"(?m)^(\s*)([A-Za-z_]\w*)(\s*:)")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


@dataclass(frozen=True)
class Document:
    """One document: its line, and its content, None when it is no JSON even when repaired."""

    line: int
    content: Any
    is_repaired: bool = False


def documents(text: str, begin: re.Pattern[str]) -> Iterator[Document]:
    """The documents that begin as ``begin`` says; other text around them is left alone."""
    starts = [text.index("{", found.start()) for found in begin.finditer(text)]
    line, counted, done = 1, 0, 0
    for start, following in pairwise([*starts, len(text)]):
        if start < done:  # inside the document before
            continue
        line += text.count("\n", counted, start)
        counted = start
        content, end = _decoded(text, start)
        if end is not None:
            done = end
            yield Document(line, content)
            continue
        repaired = _TRAILING_COMMA.sub(r"\1", _BARE_KEY.sub(r'\1"\2"\3', text[start:following]))
        content, end = _decoded(repaired, 0)
        yield Document(line, content, end is not None)


def _decoded(text: str, start: int) -> tuple[Any, int | None]:
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, None
