"""Elements of the results in answers of Prometheus' API, one after the other, however large.

Each element is decoded as a whole; what stands around the results is small and kept, so that it
can be said whether the answers are whole. Of an element that is cut or damaged, what stands
before the damage is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.readers.text import opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RESULT = re.compile(r'(?<!\\)"result"\s{0,99}:\s{0,99}\[')
_ELEMENT = re.compile(r'\{\s{0,99}"metric"\s{0,99}:')
_BEGIN = re.compile(r'\{"metric":\s?(?=\{)')
_VALUES = re.compile(r',\s?"values":\s?\[\[')
# Below, the decoder is as fast.
_FEWEST_CHARACTERS = 4096
# Seconds since 1970 that fit an int64 of nanoseconds.
MOST_S = 2**33
_GAP = re.compile(r"[\s,]*")
_CHARACTERS = 4 << 20
# A series of Prometheus has 11,000 points at the most.
_LONGEST_ELEMENT = 64 << 20
_LONGEST_AROUND = 16 << 20
# The decoder says where it stopped: at the end of what was read, or before it at damage.
_NEAR_END = 65_536
_MOST_DAMAGES = 100
_OVERLAP = 256  # longer than what is searched for
_SHOWN = 40
_decode = json.JSONDecoder().raw_decode


class Columns(NamedTuple):
    """Seconds and values of one series' samples."""

    seconds: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass
class Elements:
    """The elements of a file; ``damage`` says where the first fault is, once all are read."""

    path: Path
    damage: str | None = None
    _text: str = ""
    _at: int = 0
    _before: int = 0  # characters of the file before the text at hand
    _is_end: bool = False
    _damages: int = 0

    def __iter__(self) -> Iterator[Any]:
        around, is_within = "", False
        with opened(self.path) as self._stream:
            while True:
                if is_within:
                    yield from self._elements()
                    is_within = False
                    if self._text[self._at : self._at + 1] != "]":
                        break  # the file ends within a result
                    continue
                found = _RESULT.search(self._text, self._at)
                end = found.end() if found else max(self._at, len(self._text) - _OVERLAP)
                if not found and self._is_end:
                    end = len(self._text)
                around += self._text[self._at : end]
                self._at, is_within = end, found is not None
                if len(around) > _LONGEST_AROUND:
                    break
                if not found and self._is_end:
                    break
                if not found:
                    self._more()
        if not _is_whole(around) or self._at < len(self._text):
            self._note(self._at)

    # -- one result ------------------------------------------------------------------------

    def _elements(self) -> Iterator[Any]:
        """The elements up to the end of a result, or of the file."""
        while True:
            self._at = _GAP.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at == len(self._text):
                if not self._more():
                    return
                continue
            if self._text[self._at] == "]":
                return
            try:
                element, end = self._plain() or _decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                stop = error.pos if isinstance(error, json.JSONDecodeError) else self._at
                is_near = isinstance(error, json.JSONDecodeError) and (
                    stop >= len(self._text) - _NEAR_END
                )
                if is_near and len(self._text) - self._at < _LONGEST_ELEMENT and self._more():
                    continue
                yield from self._salvaged(stop)
                if not self._at_next_element(stop):
                    return
                continue
            if end == len(self._text) and self._more():
                continue  # a number that may go on
            self._at = end
            yield element

    def _plain(self) -> tuple[Any, int] | None:
        """A long series as Prometheus writes it, its samples left as text, and where it ends."""
        begin = _BEGIN.match(self._text, self._at)
        if not begin:
            return None
        labels, at = _decode(self._text, begin.end())
        values = _VALUES.match(self._text, at)
        if not values:
            return None
        end = self._text.find('"]]', values.end())
        if end - values.end() < _FEWEST_CHARACTERS or self._text[end + 3 : end + 4] != "}":
            return None
        columns = _columns(self._text[values.end() : end])
        return None if columns is None else ({"metric": labels, "values": columns}, end + 4)

    def _salvaged(self, stop: int) -> Iterator[Any]:
        """What stands whole in an element before its damage."""
        self._note(stop)
        text = self._text[self._at : stop if stop > self._at else len(self._text)]
        whole = text[: text.rfind("]") + 1]
        for rest in ("]}", "}"):
            try:
                element, end = _decode(whole + rest)
            except (ValueError, RecursionError):
                continue
            if end == len(whole + rest):
                yield element
                return

    def _at_next_element(self, stop: int) -> bool:
        """Goes on behind damage, where the next series begins; whether there is one."""
        self._damages += 1
        self._at = max(stop, self._at + 1)
        while self._damages < _MOST_DAMAGES:
            found = _ELEMENT.search(self._text, self._at)
            if found:
                self._at = found.start()
                return True
            self._at = max(self._at, len(self._text) - _OVERLAP)
            if not self._more():
                break
        self._at = len(self._text)
        return False

    # -- text ------------------------------------------------------------------------------

    def _more(self) -> bool:
        """Reads on; whether there was more. What was dealt with is dropped."""
        if self._is_end:
            return False
        # Twice as much each time that an element does not end, or its beginnings cost too much.
        more = self._stream.read(max(_CHARACTERS, len(self._text) - self._at))
        self._is_end = not more
        if more:
            self._before += self._at
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)

    def _note(self, at: int) -> None:
        if self.damage is None:
            shown = " ".join(self._text[max(0, at - _SHOWN) : at].split())
            self.damage = f"at character {self._before + at + 1}, after '{shown}'"


def _is_whole(around: str) -> bool:
    """Whether what stands around the elements is one or several JSON documents."""
    at, count = len(around) - len(around.lstrip("\ufeff \t\r\n")), 0
    while at < len(around):
        if count and around[at] != "{":
            return '"result"' not in around[at:]  # another format's text
        try:
            _, at = _decode(around, at)
        except (ValueError, RecursionError):
            return False
        count += 1
        at = _GAP.match(around, at).end()  # type: ignore[union-attr]
    return bool(around.strip())


def _columns(samples: str) -> Columns | None:
    """``[[1,"2"],[3,"4"]]`` without its outer brackets and quote, as numbers; None where a sample
    is not plainly these two."""
    import pyarrow as pa
    from pyarrow import csv

    if "\n" in samples or not samples.isascii():
        return None
    lines = samples.replace('"],[', "\n").replace(',"', ",")
    count = lines.count("\n") + 1
    if lines.count(",") != count:
        return None
    try:
        table = csv.read_csv(
            pa.BufferReader(lines.encode()),
            csv.ReadOptions(use_threads=False, column_names=["s", "v"], block_size=1 << 30),
            csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                check_utf8=False, column_types=dict.fromkeys("sv", pa.float64()), null_values=[]
            ),
        )
    except pa.ArrowInvalid:
        return None
    seconds, values = (column.to_numpy() for column in table.columns)
    is_time = (seconds >= 0) & (seconds < MOST_S)
    return Columns(seconds, values) if len(seconds) == count and is_time.all() else None
