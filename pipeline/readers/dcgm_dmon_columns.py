"""Many lines of ``dcgmi dmon`` at once: regular cells of columns, as numbers.

What is decoded here is exactly what :mod:`pipeline.readers.dcgm_dmon_lines` makes of the same
lines; whatever is not plainly regular is left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLANK, _ZERO, _POINT = 32, 48, 46
# As many digits as a float holds exactly: then one division rounds just as reading the text does.
_DIGITS = 15
_PADDING = 16_384
_LONGEST_CELL = 64  # wider than any column
_TENS = 10 ** np.arange(_DIGITS + 1, dtype=np.int64)


@dataclass(frozen=True)
class Lines:
    """Some lines of a block: its bytes, and where in it each line begins and how long it is."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def of(self, chosen: NDArray[np.int64] | slice) -> Lines:
        """Fewer lines of the same block."""
        return Lines(self.text, self.starts[chosen], self.lengths[chosen])

    def line(self, number: int) -> bytes:
        """One line without its newline."""
        start = int(self.starts[number])
        return self.text[start : start + int(self.lengths[number])].tobytes()

    def characters(self, begin: int, end: int) -> NDArray[np.uint8]:
        """Characters ``begin`` to ``end`` of every line: one row per position, blank after a
        line's end."""
        # The text as overlapping items of one cell each: taking items copies them whole, far
        # faster than characters.
        width = end - begin
        items = np.ndarray(
            (len(self.text) - width + 1,), f"V{width}", self.text, strides=(1,)
        )[self.starts + begin]  # fmt: skip
        found = np.ascontiguousarray(items.view(np.uint8).reshape(-1, width).T)
        if int(self.lengths.min(initial=end)) < end:
            found[np.arange(begin, end)[:, None] >= self.lengths[None, :]] = _BLANK
        return found


def all_lines(text: bytes) -> Lines:
    """The lines of a block, each ended by a newline."""
    # Blanks after the end, so that no cell of a short last line lies outside.
    array = np.frombuffer(text + b" " * _PADDING, np.uint8)
    ends = np.flatnonzero(array == 10)
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    return Lines(array, starts, ends - starts)


def grouped(characters: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal columns of characters: the first of each group, and every one's group."""
    code = np.zeros(characters.shape[1], np.uint64)
    with np.errstate(over="ignore"):
        for row in characters:
            code = code * np.uint64(1_099_511_628_211) + row
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    if (characters != characters[:, first[group]]).any():  # two texts of one code
        _, first, group = np.unique(characters, axis=1, return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def numbers(
    lines: Lines, starts: Sequence[int], has_blanks: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Cells of regular lines as (columns, lines) numbers, NaN for N/A and blank, and which
    lines are regular."""
    count = len(lines.starts)
    values = np.empty((len(starts), count))
    is_regular = np.ones(count, np.bool_)
    longest = int(lines.lengths.max(initial=0))
    ends = [*starts[1:], min(max(longest, starts[-1] + 1), starts[-1] + _LONGEST_CELL)]
    is_regular &= lines.lengths <= ends[-1]
    before = lines.characters(starts[0] - 1, starts[0])[0]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        characters = lines.characters(start, end)
        values[number], is_good = _column(characters, has_blanks)
        is_regular &= is_good & (before == _BLANK)
        before = characters[-1]
    return values, is_regular


def _column(
    characters: NDArray[np.uint8], has_blanks: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Cells of one column that begin at its first character."""
    is_text = characters != _BLANK
    used = int(np.flatnonzero(is_text.any(axis=1)).max(initial=-1)) + 1
    characters, is_text = characters[:used], is_text[:used]
    width = is_text.sum(axis=0, dtype=np.int64)
    is_blank = width == 0
    digits = characters - _ZERO  # wraps: only digits are below 10
    is_digit = digits < 10
    is_point = characters == _POINT
    points = is_point.sum(axis=0, dtype=np.int64)
    is_good = is_digit.sum(axis=0, dtype=np.int64) + points == width
    is_good &= (points <= 1) & (width - points <= _DIGITS) & ~is_blank
    if used > 1:
        is_good &= ~(is_text[1:] & ~is_text[:-1]).any(axis=0)
        # 0 and 0.5, but no 07: dcgmi does not write that, digits went missing.
        is_good &= (digits[0] != 0) | (characters[1] == _POINT) | (width == 1)
    if used:
        is_good &= is_digit[0]
    whole, decimals = _digits_and_decimals(digits, is_digit, is_point, points, width)
    is_good &= (points == 0) | (decimals > 0)
    values = whole.astype(np.float64)
    if points.any():
        values /= _TENS[np.clip(decimals, 0, _DIGITS)]
    is_none = _is_not_available(characters, width)
    if has_blanks:
        is_none = is_none | is_blank
    values[~is_good] = np.nan
    return values, is_good | is_none


def _digits_and_decimals(
    digits: NDArray[np.uint8],
    is_digit: NDArray[np.bool_],
    is_point: NDArray[np.bool_],
    points: NDArray[np.int64],
    width: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All digits of each cell as one whole number, and how many follow its point."""
    whole = np.zeros(len(width), np.int64)
    decimals = np.zeros(len(width), np.int64)
    with np.errstate(over="ignore"):
        for row, is_one in zip(digits, is_digit, strict=True):
            whole = np.where(is_one, whole * 10 + row, whole)
    if points.any():
        decimals = np.where(points > 0, width - 1 - is_point.argmax(axis=0), 0)
    return whole, decimals


def _is_not_available(characters: NDArray[np.uint8], width: NDArray[np.int64]) -> NDArray[np.bool_]:
    if len(characters) < 3:
        return np.zeros(len(width), np.bool_)
    is_it: NDArray[np.bool_] = width == 3
    for row, letter in zip(characters, b"N/A", strict=False):
        is_it &= row == letter
    return is_it
