"""One line of ``dcgmi dmon`` at a time: stamps, headers, entities, cells. Exact, not fast.

Where a value stands is decided by the header above it: dmon pads every cell to a width of its
column, which no version prints alike, and leaves cells blank.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

from pipeline.readers.telemetry import Metric, by_dcgm_id, by_dcgm_short, gpu_of_index

# -- time stamps that ts(1), awk or a script put before each line --------------------------

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_STAMP = re.compile(
    r"\s*\[?(?:"
    r"(?P<date>\d{4}[-/]\d\d[-/]\d\d)[T ](?P<day_time>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
    r"\s?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?"
    r"|(?P<epoch>\d{10})(?:\.(?P<epoch_part>\d{1,9}))?|(?P<fine>\d{13}|\d{16}|\d{19})"
    r"|(?:(?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) )?(?P<time>\d\d:\d\d:\d\d)"
    r"(?:\.(?P<time_part>\d{1,9}))?"
    r")\]?[:,]?[ \t]+(?=#|I[Dd]\b|GPU|vGPU|SW |Switch|LINK|CPU|CX|UNKNOWN)",
    re.ASCII,
)
_S = 1_000_000_000


@dataclass(frozen=True)
class Stamp:
    """A time in ns since 1970, of a clock: ``utc``, ``local`` (its zone not said), or of one
    that does not say the year (``date``) or not even the day (``time``)."""

    ns: int
    clock: str


def stamp_before(line: str) -> tuple[Stamp | None, int]:
    """The time stamp before a line of dmon and its length; (None, 0) where there is none."""
    found = _STAMP.match(line)
    if not found:
        return None, 0
    try:
        return _stamp(found), found.end()
    except (ValueError, OverflowError):
        return None, 0


def _stamp(found: re.Match[str]) -> Stamp:
    if found["fine"]:
        return Stamp(int(found["fine"]) * 10 ** (19 - len(found["fine"])), "utc")
    if found["epoch"]:
        return Stamp(int(found["epoch"]) * _S + _part(found["epoch_part"]), "utc")
    if found["date"]:
        at = datetime.fromisoformat(f"{found['date'].replace('/', '-')} {found['day_time']}")
        zone = found["zone"]
        offset = timedelta(0)
        if zone and zone not in ("Z", "UTC"):
            sign = -1 if zone[0] == "-" else 1
            offset = sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        seconds = int(at.replace(tzinfo=timezone(offset)).timestamp())
        return Stamp(seconds * _S + _part(found["part"]), "utc" if zone else "local")
    day = 0
    if found["month"]:
        # Without a year: only the distance of two such times is used. 1972 has a 29 February.
        month = _MONTHS.index(found["month"]) + 1
        day = int(datetime(1972, month, int(found["day"]), tzinfo=UTC).timestamp())
    hours, minutes, seconds = map(int, found["time"].split(":"))
    if hours > 23 or minutes > 59 or seconds > 60:
        raise ValueError("no time of day")
    ns = (day + 3600 * hours + 60 * minutes + seconds) * _S + _part(found["time_part"])
    return Stamp(ns, "date" if found["month"] else "time")


def _part(digits: str | None) -> int:
    return int((digits or "").ljust(9, "0"))


# -- entities ------------------------------------------------------------------------------

ENTITY = re.compile(
    r"(?:(?P<gpu>GPU) (?P<number>\d{1,4})(?: LINK (?P<link>\d{1,4}))?"
    r"|(?P<part>GPU-I|GPU-CI|LINK) (?P<part_number>\d{1,10})"
    r"|(?P<other>SW \d{1,10} LINK|vGPU|Switch|CPU Core|CPU|CX|UNKNOWN) \d{1,10})(?![^\s])",
    re.ASCII,
)
_PARTS = {"GPU-I": "gpu_instance", "GPU-CI": "compute_instance", "LINK": "link"}
# dmon numbers MIG instances and bare links over the whole host: whose GPU's they are, it hides.
UNKNOWN_GPU = "gpu:unknown"


@dataclass(frozen=True)
class Entity:
    """Whom a row is about. ``kind`` is ``gpu_sample.entity``, None for what is no GPU."""

    text: str
    kind: str | None
    gpu_id: str = ""
    device_id: int = -1
    part: str | None = None

    @property
    def is_mig(self) -> bool:
        return self.kind in ("gpu_instance", "compute_instance")


def entity_of(found: re.Match[str]) -> Entity:
    """The entity of a match of ``ENTITY``."""
    if found["other"]:
        return Entity(found[0], None)
    if found["gpu"]:
        index = int(found["number"])
        kind = "link" if found["link"] else "gpu"
        return Entity(found[0], kind, gpu_of_index(index), index, found["link"])
    return Entity(found[0], _PARTS[found["part"]], UNKNOWN_GPU, -1, found["part_number"])


# DcgmCacheManager.cpp numbers instances GPU * GPCs + n, of GPUs with 7 or 8 GPCs.
_FEWEST_GPCS, _MOST_GPCS = 7, 8


def part_of(instance: Entity, gpu: Entity) -> Entity:
    """A MIG instance as part of a GPU; as it was if its number cannot be of that GPU."""
    number = int(instance.part or -1)
    # No GPU has more than 7 instances.
    least, most = gpu.device_id * _FEWEST_GPCS, gpu.device_id * _MOST_GPCS + 6
    if not least <= number <= most:
        return instance
    return replace(instance, gpu_id=gpu.gpu_id, device_id=gpu.device_id)


# -- headers -------------------------------------------------------------------------------

LONGEST_HEADER = 8192
_HEADER = re.compile(
    r"\s{0,64}#(?P<gap>\s{0,16})(?P<word>Entity)?(?P<names>(?:\s{1,64}[A-Z][A-Z0-9_#]{2,15})+)\s*$"
)
UNITS = re.compile(r"\s*I[Dd]\b")
_DMON = re.compile(r"\bdcgmi\s+dmon\b")
_FIELDS = re.compile(r"\s(?:-e|--field-id)[\s=]*(\d{1,5}(?:,\s?\d{1,5})*)", re.ASCII)
_DELAY = re.compile(r"\s(?:-d|--delay)[\s=]*(\d{1,9})\b", re.ASCII)
_RIGHT_ALIGNED = "2.1"
_VERSIONS = {10: "2.3 to 3.3.9", 11: "4.0 to 4.4.2", 16: "4.5 or later"}


@dataclass(frozen=True)
class Layout:
    """The columns of a block of rows.

    ``starts`` says where cells begin; empty where cells are only divided by blanks (2.1.4 and
    before, and rows whose header is missing). ``has_blanks``: a cell without data stays blank;
    before 4.0 the ones after it moved up, which nothing shows.
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    starts: tuple[int, ...] = ()
    has_blanks: bool = False
    is_bare: bool = False  # rows may begin with the number alone (1.x)
    version: str | None = None
    has_word: bool = True  # its header says Entity


def layout_of(line: str) -> Layout | None:
    """The layout that a header line says, None if it is none."""
    found = _HEADER.match(line) if len(line) < LONGEST_HEADER else None
    if not found:
        return None
    begin = found.start("names")
    cells = [(m.start() + begin, m[0]) for m in re.finditer(r"\S+", found["names"])]
    names = tuple(name for _, name in cells)
    metrics = tuple(by_dcgm_short(name) for name in names)
    if not found["word"]:
        if not any(metric.is_known for metric in metrics):
            return None
        return Layout(names, metrics, is_bare=True, has_word=False)
    if found["gap"]:
        return Layout(names, metrics, is_bare=True, version=_RIGHT_ALIGNED)
    starts = tuple(start for start, _ in cells)
    version = _VERSIONS.get(starts[0])
    return Layout(names, metrics, starts, starts[0] in (11, 16), version=version)


def is_command(line: str) -> bool:
    """Whether a line is, or quotes, the command ``dcgmi dmon``."""
    return "dmon" in line and bool(_DMON.search(line))


def layout_of_command(command: str) -> Layout | None:
    """The columns that a command asks for: rows pasted without their header."""
    found = _FIELDS.search(command)
    if not found:
        return None
    ids = [int(text) for text in found[1].split(",")]
    metrics = tuple(by_dcgm_id(number) for number in ids)
    return Layout(tuple(map(str, ids)), metrics, is_bare=True, has_word=False)


def interval_of_command(command: str) -> int | None:
    """The sampling interval in ns that a command asks for."""
    found = _DELAY.search(command)
    return int(found[1]) * 1_000_000 or None if found else None


# -- cells ---------------------------------------------------------------------------------

# What dcgmi writes: a whole number or one with decimals. People annotate: 38735656050(36.07GB/s).
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?)(?:\([^()]*\))?")
_GLUED = re.compile(r"N/A|-?[0-9]+(?:\.[0-9]{3})?")
_BARE = re.compile(r"\s*(\d{1,4})(?=\s)", re.ASCII)

# Fields that printed 0 where there is no data, until 4.5.3 printed N/A.
AMBIGUOUS_ZEROS = frozenset(
    [
        *("XIDER", "GNVERR", "CLKPCNS", "CLKPWRCAPNS", "CLKBSTNS", "CLKSYNCBSTNS"),
        *("CLKSWTHNS", "CLKHWTHNS", "CLKEPBSNS", "CLKPWRBRKNS"),
    ]
)
NO_VALUE = "no value (N/A)"
CUT = "cut short by the width of its column"
TEXT = "not a number"

TOO_FEW = (
    "fewer cells than columns: before DCGM 4.0 a value without data is left out and those "
    "after it move up"
)
TOO_WIDE = "a cell runs into the next: which value is whose cannot be told"
MISPLACED = "cells do not stand in the columns of their header"


class SkippedRow(Exception):
    """A row of dmon whose values cannot be told; str() says why."""


def is_value(token: str) -> bool:
    """Whether a token is what dmon prints for a value."""
    return token == "N/A" or bool(_NUMBER.fullmatch(token))


def number_of(cell: str) -> tuple[float | None, str]:
    """The number in a cell, or None and why there is none."""
    if cell in ("N/A", ""):
        return None, NO_VALUE
    found = _NUMBER.fullmatch(cell)
    if found:
        return float(found[1]), ""
    return None, CUT if cell.endswith("...") else TEXT


def row_of(line: str, layout: Layout, may_be_bare: bool) -> tuple[Entity, list[str]] | None:
    """The entity and one cell per column of a line without its stamp; None if it is no row.

    ``may_be_bare``: a number alone may stand for a GPU, because a row or a header was just
    before. Raises :class:`SkippedRow`.
    """
    begin = len(line) - len(line.lstrip())
    found = ENTITY.match(line, begin)
    if found:
        if layout.starts and begin == 0 and found.end() < layout.starts[0]:
            cells = _cells_in_columns(line, layout, found.end())
            if cells is not None:
                return entity_of(found), cells
        tokens = line[found.end() :].split()
        if len(tokens) < len(layout.names) and any(_runs_over(line, s) for s in layout.starts):
            raise SkippedRow(TOO_WIDE)
        return entity_of(found), _cells_in_order(tokens, layout)
    bare = _BARE.match(line) if layout.is_bare and may_be_bare else None
    if not bare:
        return None
    tokens = line[bare.end() :].split()
    if not all(_GLUED.match(token) for token in tokens) or not tokens:
        return None
    index = int(bare[1])
    return Entity(f"GPU {index}", "gpu", gpu_of_index(index), index), _cells_in_order(
        tokens, layout
    )


def _cells_in_columns(line: str, layout: Layout, after: int) -> list[str] | None:
    """Cells by the places of the header; None if they don't begin there."""
    if line[after : layout.starts[0]].strip():
        return None
    ends = (*layout.starts[1:], len(line))
    cells = [line[start:end] for start, end in zip(layout.starts, ends, strict=True)]
    for cell, start in zip(cells, layout.starts, strict=True):
        text = cell.rstrip()
        if text and (text[0].isspace() or not line[start - 1].isspace()):
            return None
    cells = [cell.rstrip() for cell in cells]
    if not layout.has_blanks and not all(cells):
        raise SkippedRow(TOO_FEW)
    return cells


def _runs_over(line: str, start: int) -> bool:
    """Whether a cell goes on where the next column starts."""
    around = line[start - 1 : start + 1]
    return len(around) == 2 and not any(map(str.isspace, around))


def _cells_in_order(tokens: list[str], layout: Layout) -> list[str]:
    """Cells by their order: each column must have one."""
    if len(tokens) < len(layout.names) and layout.is_bare:
        tokens = _unglued(tokens)
    if len(tokens) == len(layout.names):
        return tokens
    if layout.starts and layout.has_blanks:
        raise SkippedRow(MISPLACED)
    raise SkippedRow(TOO_FEW if len(tokens) < len(layout.names) else MISPLACED)


def _unglued(tokens: list[str]) -> list[str]:
    """1.x puts no blank between a cell and one that is too wide for its column."""
    pieces: list[str] = []
    for token in tokens:
        parts = _GLUED.findall(token)
        pieces += parts if "".join(parts) == token else [token]
    return pieces
