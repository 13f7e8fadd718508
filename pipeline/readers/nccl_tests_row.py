"""Tables of nccl-tests: what their header says of the columns, and rows read by it.

2016 to 2019 tables are in milliseconds (``bytes N type op time algbw busbw res``), later ones in
microseconds with columns that differ from test to test; since August 2022 all have the same.
"""

from __future__ import annotations

import re
from calendar import timegm
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

# Bytes of an element by the names that all versions, and RCCL's, print.
WIDTHS = {
    **dict.fromkeys(("int8", "char", "uint8", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "float16", "fp16", "bfloat16", "bf16"), 2),
    **dict.fromkeys(("int", "int32", "uint", "uint32", "float", "float32", "fp32"), 4),
    **dict.fromkeys(("int64", "uint64", "double", "float64", "fp64"), 8),
}
REDOPS = ("sum", "prod", "max", "min", "avg", "mulsum", "none")
_NAMES = {"bytes": "size", "N": "count", "op": "redop", "res": "error", "delta": "error"}
_NAMES |= {"cputime": "time", "#wrong": "wrong", "timestamp": "timestamp"}
_BEFORE = ("size", "count", "type", "redop", "root")
_HALF = ("time", "algbw", "busbw")
_ITERATIONS = ("i_min", "i_max", "i_p99", "i_cv%")
_NUMBER = re.compile(r"-?\d{1,25}(?:\.\d{1,20})?(?:e[+-]?\d{2,3})?")
_NO_NUMBERS = frozenset(("N/A", "nan", "-nan", "inf", "-inf"))
_COUNT = re.compile(r"\d{1,40}")
_LARGEST_COUNT = (1 << 63) - 1
_ROOT = re.compile(r"-1|\d{1,9}")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,30}")
# Where a body is left out, as much blank is printed (since 2.17).
_BLANK_BODY = re.compile(r"\S {30,}\S")
# What is left of a cell when a digit or two of it are gone.
_BROKEN_CELL = re.compile(r"^(?=\D{0,11}[\d.])[\w.+\-/]{1,12}$")
_LARGEST_NS = 1 << 62
_LARGEST_POWER = 30
# Sizes are padded to 12 characters: one alone on its line has at most 6 digits before a sweep
# prints many, and another program rarely indents a number so far.
_SIZE_INDENT = 4


@dataclass(frozen=True)
class Printed:
    """A number as printed, and the unit of its last digit."""

    value: Decimal
    last_digit: float


@dataclass(frozen=True)
class Layout:
    """The columns of a table.

    ``placements`` has an entry for each half of its rows: whether it is the in-place one, None
    if nothing says so. ``time_exponent`` makes ns of the printed times: 3 or 6.
    """

    before: tuple[str, ...]
    half: tuple[str, ...]
    placements: tuple[bool | None, ...]
    time_exponent: int = 3
    is_time_host: bool = False
    has_timestamp: bool = False

    @property
    def unknown(self) -> tuple[str, ...]:
        """Columns of builds that nobody published, e.g. ``sideBw``."""
        known = {*_HALF, "wrong", "error", *_ITERATIONS}
        return tuple(name for name in self.half if name not in known)

    @property
    def tokens(self) -> int:
        after = len(self.half) * len(self.placements)
        return len(self.before) + after + 2 * self.has_timestamp


@dataclass(frozen=True)
class Measured:
    """One half of a row. Numbers are as printed: microseconds (milliseconds), GB/s."""

    line: int | None
    size: int
    count: int | None
    dtype: str | None
    redop: str | None
    root: int | None
    is_in_place: bool | None
    time: Printed | None
    algbw: Printed | None
    busbw: Printed | None
    time_exponent: int = 3
    is_time_host: bool = False
    wrong: int | None = None
    max_error: float | None = None
    iterations: tuple[int | None, int | None, int | None, float | None] = (None,) * 4
    at_local_ns: int | None = None
    rank: int | None = None

    @property
    def time_ns(self) -> int | None:
        """None too when the number is larger than any time."""
        return None if self.time is None else in_ns(self.time.value, self.time_exponent)


class Torn(Exception):
    """A row that cannot be read whole; str() says why."""


def in_ns(value: Decimal, exponent: int = 3) -> int | None:
    """A time in units of 10^exponent ns as ns, None when it is no possible one."""
    scaled = value.scaleb(exponent)
    return int(scaled.to_integral_value()) if 0 <= scaled < _LARGEST_NS else None


def printed(token: str) -> Printed | None:
    """A number and the place of its last digit; None for ``N/A``, ``nan``, ``inf``."""
    if token in _NO_NUMBERS:
        return None
    if not _NUMBER.fullmatch(token):
        raise Torn("not a number")
    value = Decimal(token)
    if value.adjusted() > _LARGEST_POWER:
        raise Torn("a number larger than any")
    return Printed(value, float(f"1e{value.as_tuple().exponent}"))


def header(text: str, above: str = "") -> Layout | None:
    """The layout that a header line says; ``above`` is the line over it, which names the halves.

    None when it is no header. Raises :class:`Torn` for one with columns that are not known.
    """
    words = text.strip().lstrip("#> \t").split()
    if not is_header(words):
        return None
    is_old = words[0] == "bytes"
    is_time_host = "cputime" in words
    names = [_NAMES.get(word, word) for word in words]
    starts = [at for at, name in enumerate(names) if name == "time"]
    if not starts:
        raise Torn("a header without its times")
    has_timestamp = names[-1] == "timestamp"
    body = names[starts[0] : len(names) - has_timestamp]
    half = body[: len(body) // len(starts)]
    before = tuple(names[: starts[0]])
    is_known = (
        len(starts) <= 2
        and body == half * len(starts)
        and len(set(half)) == len(half)
        and {*_HALF} <= set(half)
        and len({"wrong", "error"} & set(half)) == 1
        and set(before[3:]) <= {"redop", "root"}
        and len(set(before)) == len(before)
    )
    if not is_known:
        raise Torn("a header with other columns")
    placements: tuple[bool | None, ...] = (False, True)
    if len(starts) == 1:
        named = [word for word in ("out-of-place", "in-place") if word in above.split()]
        placements = (named == ["in-place"] if len(named) == 1 else None,)
    return Layout(before, tuple(half), placements, 6 if is_old else 3, is_time_host, has_timestamp)


def is_header(words: list[str]) -> bool:
    """Whether a line is the header of a table, perhaps with columns that are not known."""
    is_start = words[:3] in (["size", "count", "type"], ["bytes", "N", "type"])
    return is_start and {"algbw", "busbw"} <= set(words)


def with_units(layout: Layout, text: str) -> Layout:
    """The layout with the unit of time that the line under the header says."""
    words = text.split()
    if "(us)" in words:
        return replace(layout, time_exponent=3)
    return replace(layout, time_exponent=6) if "(ms)" in words else layout


def guessed(tokens: list[str]) -> Layout | None:
    """The layout of a row without any header; None where more than one would do."""
    if not is_row(tokens) or tokens[2] not in WIDTHS:
        return None
    before: tuple[str, ...]
    if len(tokens) == 13 and tokens[3] in REDOPS and _ROOT.fullmatch(tokens[4]):
        before = _BEFORE
    elif len(tokens) == 12 and tokens[3] in REDOPS:
        before = _BEFORE[:4]
    elif len(tokens) == 11 and _NUMBER.fullmatch(tokens[3]):
        before = _BEFORE[:3]
    else:
        return None
    ends = tokens[len(before) + 3 :: 4]
    is_count = len(before) == 5 and any(end.isdigit() for end in ends)
    layout = Layout(before, (*_HALF, "wrong" if is_count else "error"), (False, True))
    try:
        halves = read(tokens, layout, 0)
    except Torn:
        return None
    if is_count:  # printed since 2022, when times had long been in microseconds
        return layout
    found = {exponent for half in halves for exponent in (3, 6) if _is_unit(half, exponent)}
    return replace(layout, time_exponent=found.pop()) if len(found) == 1 else None


def _is_unit(row: Measured, exponent: int) -> bool:
    """Whether size / time is about algbw when times are in units of 10^exponent ns."""
    if not (row.size and row.time and row.algbw and row.time.value > 0):
        return False
    speed = row.size / float(row.time.value.scaleb(exponent))
    return 0.1 < float(row.algbw.value) / speed < 10


def is_row(tokens: list[str]) -> bool:
    """Whether a line begins like a row: two counts and the name of a type."""
    return (
        len(tokens) >= 3
        and bool(_COUNT.fullmatch(tokens[0]))
        and bool(_COUNT.fullmatch(tokens[1]))
        and bool(_WORD.fullmatch(tokens[2]))
    )


def looks_like_row(tokens: list[str], layout: Layout) -> bool:
    """Whether a line can only be meant as a row of the table, though its first cells are none."""
    after = len(layout.half) * len(layout.placements)
    before = len(tokens) - after
    return (
        before in (len(layout.before), len(layout.before) - 1)
        and is_rest(tokens[before:])
        and any("." in token for token in tokens[before:])  # dmon's numbers are whole
        and not is_rest(tokens[:before])
    )


def is_piece(tokens: list[str], text: str) -> bool:
    """Whether a line is a piece of a row of nccl-tests and of no other table.

    Its beginning: a size alone, padded to its column as the tool does, or a size and a count,
    perhaps with the beginning of a type. Or its end: time, algbw, busbw and what was wrong.
    """
    if not is_rest(tokens[:2]):
        return False
    if all(map(_COUNT.fullmatch, tokens[:2])) and len(tokens) <= 3:
        if len(tokens) == 1:
            return len(text) - len(text.lstrip()) >= _SIZE_INDENT
        return len(tokens) == 2 or any(name.startswith(tokens[2]) for name in WIDTHS)
    end = tokens[-4:]
    is_end = len(end) == 4 and is_rest(tokens) and all("." in token for token in end[:3])
    return is_end and (end[3] == "N/A" or end[3].isdigit())


def quoted(text: str) -> str:
    """The cells of a row up to the first that is none: what broke it may be anyone's."""
    shown: list[str] = []
    for token in text.lstrip("#> \t").split():
        is_cell = token in _NO_NUMBERS or token in WIDTHS or token in REDOPS
        if not is_cell and not _NUMBER.fullmatch(token):
            return " ".join([*shown, *_BROKEN_CELL.findall(token), "..."])
        shown.append(token)
    return " ".join(shown)


def can_go_on(tokens: list[str], layout: Layout) -> bool:
    """Whether a row was cut between two writes of the tool: after its preamble or a half."""
    rest = len(tokens) - len(layout.before)
    return 0 <= rest < len(layout.half) * len(layout.placements) and rest % len(layout.half) == 0


def is_rest(tokens: list[str]) -> bool:
    """Whether a line consists of numbers only, as the rest of a row does."""
    return bool(tokens) and all(t in _NO_NUMBERS or _NUMBER.fullmatch(t) for t in tokens[:26])


def read(tokens: list[str], layout: Layout, line: int | None, text: str = "") -> list[Measured]:
    """The halves of a row. Raises :class:`Torn`, and then nothing of it can be trusted."""
    placements = layout.placements
    after = len(layout.half) * len(placements)
    at_ns = None
    if layout.has_timestamp:
        at_ns, tokens = _timestamp(tokens[-2:]), tokens[:-2]
    before = len(tokens) - after
    if before == len(layout.before) - len(layout.half) and len(placements) == 2:
        if not _BLANK_BODY.search(text):
            raise Torn("a row that is not whole")
        placements, after = (True,), len(layout.half)  # the out-of-place body is left blank
        before = len(tokens) - after
    names = layout.before
    if before == len(names) - 1 and "redop" in names and not _WORD.fullmatch(tokens[3]):
        # Alltoall had a header with the operation but left its cell blank (2020 to 2022).
        names = tuple(name for name in names if name != "redop")
    if before != len(names):
        raise Torn("a row that is not whole")
    cells = dict(zip(names, tokens, strict=False))
    root = cells.get("root")
    redop = cells.get("redop")
    if int(cells["size"]) > _LARGEST_COUNT or int(cells["count"]) > _LARGEST_COUNT:
        raise Torn("a size larger than any")
    if not is_row(tokens) or (redop is not None and not _WORD.fullmatch(redop)):
        raise Torn("a row with other cells")
    if root is not None and not _ROOT.fullmatch(root):
        raise Torn("a row with other cells")
    row = Measured(
        line,
        int(cells["size"]),
        int(cells["count"]),
        cells["type"],
        redop,
        int(root) if root is not None and root != "-1" else None,
        None,
        None,
        None,
        None,
        layout.time_exponent,
        layout.is_time_host,
        at_local_ns=at_ns,
    )
    halves = [
        tokens[at : at + len(layout.half)] for at in range(before, len(tokens), _step(layout))
    ]
    return [
        _half(row, dict(zip(layout.half, half, strict=True)), is_in_place)
        for half, is_in_place in zip(halves, placements, strict=True)
    ]


def _step(layout: Layout) -> int:
    return len(layout.half)


def _half(row: Measured, cells: dict[str, str], is_in_place: bool | None) -> Measured:
    numbers = {name: printed(cell) for name, cell in cells.items()}
    time, algbw, busbw = (numbers[name] for name in _HALF)
    if any(number and number.value < 0 for number in (time, algbw, busbw)):
        raise Torn("a negative number")
    wrong = numbers.get("wrong")
    if wrong and (wrong.value < 0 or wrong.value != wrong.value.to_integral_value()):
        raise Torn("a count that is none")
    error = numbers.get("error")
    return replace(
        row,
        is_in_place=is_in_place,
        time=time,
        algbw=algbw,
        busbw=busbw,
        wrong=int(wrong.value) if wrong and wrong.value < 1 << 62 else None,
        max_error=float(error.value) if error else None,
        iterations=_iterations(numbers),
    )


def _iterations(
    numbers: dict[str, Printed | None],
) -> tuple[int | None, int | None, int | None, float | None]:
    found = [numbers.get(name) for name in _ITERATIONS]
    least, most, p99 = (in_ns(number.value) if number else None for number in found[:3])
    variation = found[3]
    return least, most, p99, float(variation.value.scaleb(-2)) if variation else None


def _timestamp(tokens: list[str]) -> int:
    try:
        return local_ns(" ".join(tokens))
    except ValueError:
        raise Torn("a row without its time of day") from None


def local_ns(text: str) -> int:
    """``2025-10-07 11:22:33`` as ns since 1970 as if it were UTC. Raises :class:`ValueError`."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text):
        raise ValueError(text)
    at = datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
    return timegm(at.timetuple()) * 1_000_000_000
