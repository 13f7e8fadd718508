"""One line of a training log that tells of a step, and the numbers and times such lines hold."""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal, Protocol

from pipeline.readers.launcher_prefix import Prefixed
from pipeline.readers.training_lines import Line

Kind = Literal["step", "validation", "summary"]

MEBI, GIBI, TERA = 1 << 20, 1 << 30, 10**12
MILLI_NS, SECOND_NS = 10**6, 10**9
# What is written between a number's end and the next; thousands may be set off by commas.
NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,30})(?:\.\d{0,30})?(?:[eE][-+]?\d{1,3})?"
_NUMBER = re.compile(NUMBER)
_SHORT = re.compile(r"(\d{1,9})(?:\.(\d{1,6}))?", re.ASCII)
_PLAIN = re.compile(r"[-+]?\d{1,30}(?:\.\d{0,30})?(?:[eE][-+]?\d{1,2})?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
_TIME = re.compile(
    r"(?<!\d)(\d{4})(-?)(\d\d)\2(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(Z|[-+]\d\d:?\d\d)?(?![\d:])"
)
# Before a step stand times, ranks, levels: text with any of these quotes the step instead.
_QUOTING = re.compile(r"[\"'`#{\\]|\w\(")


class Unreadable(ValueError):
    """A line begins as a step's does but cannot be understood; str() is the reason."""


class Quoted(Unreadable):
    """A step in a program's text or in prose: of whatever job, not of this one."""

    def __init__(self) -> None:
        super().__init__("a step quoted in other text")


@dataclass(frozen=True)
class Clock:
    """A time of day, ns since 1970: of UTC, or of the host's own zone which is not said."""

    ns: int
    is_utc: bool


@dataclass
class Entry:
    """What one line says of one step: ``values`` are columns of ``training_step``.

    ``text`` is the same where another rank printed the same line. An update takes the place of
    the row of its step (progress bars are rewritten); a supplement only fills one that exists.
    """

    framework: str
    line: InitVar[Line]
    step: int | None
    text: str
    values: dict[str, object]
    kind: Kind = "step"
    last_step: int | None = None
    clock: Clock | None = None
    rank: int | None = None
    is_update: bool = False
    is_supplement: bool = False
    notes: list[str] = field(default_factory=list)
    number: int = field(init=False)
    printed: Prefixed = field(init=False)

    def __post_init__(self, line: Line) -> None:
        # Not the line itself, which holds on to all the text around it.
        self.number, self.printed = line.number, line.printed


class Source(Protocol):
    """A framework: the bytes of which one is in each of its lines, and what the lines say."""

    @property
    def NEEDLES(self) -> tuple[bytes, ...]: ...

    def entries(self, line: Line) -> Iterator[Entry]:
        """The steps of which a line tells; raises :class:`Unreadable`."""
        ...


def decimal(text: str) -> Decimal | None:
    """The number a text is, exactly; None when it is none or not finite."""
    text = text.strip()
    return Decimal(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def scaled(text: str, unit: int = 1) -> int:
    """A number in a multiple of its base unit as a whole number of it, within 64 bits."""
    if plain := _SHORT.fullmatch(text):
        # Exactly: digits of the part times the unit, which is a multiple of what they are of.
        part = plain[2] or ""
        own: int = 10 ** len(part)
        if unit % own == 0:
            return (int(plain[1]) * own + int(part or 0)) * (unit // own)
    value = decimal(text)
    if value is None:
        raise Unreadable("no number where one is expected")
    whole = _rounded(value * unit)
    if not -(1 << 63) <= whole < 1 << 63:
        raise Unreadable("a number out of range")
    return whole


def duration(text: str, unit: int) -> int:
    """A span of time in a multiple of a nanosecond: not below 0, as no clock runs back."""
    if text.lstrip().startswith("-"):
        raise Unreadable("a negative time")
    return scaled(text, unit)


def count(text: str) -> int:
    """A number of things, which may be written as ``6023.0`` or ``2e+3``."""
    if len(text) < 19 and text.isascii() and text.isdigit():
        return int(text)
    value = decimal(text)
    if value is None or value < 0 or value != value.to_integral_value():
        raise Unreadable("no count where one is expected")
    return scaled(text)


def ratio(text: str, unit: float = 1.0) -> float | None:
    """A number in its base unit; None where it is not finite."""
    if unit == 1.0 and _PLAIN.fullmatch(text):
        return float(text)
    value = decimal(text)
    if value is not None and abs(value) < Decimal("1e300"):
        # One rounding only: 41.19 % is 0.4119, not 41.19 * 0.01.
        return float(value * Decimal(repr(unit)))
    if _NOT_FINITE.fullmatch(text.strip()):
        return None
    raise Unreadable("no number where one is expected")


def magnitude(text: str, unit: float = 1.0) -> float | None:
    """A speed, a share, an energy: as :func:`ratio`, and not below 0."""
    value = ratio(text, unit)
    if value is not None and value < 0:
        raise Unreadable("a negative number where none can be")
    return value


def loss(text: str) -> dict[str, object]:
    """The columns of a loss: one that is NaN or infinite is no number to compute with."""
    value = ratio(text)
    return {"loss": value, "is_loss_finite": value is not None}


def clock_in(text: str) -> Clock | None:
    """The last time of day in a text, None if there is none that can be."""
    if not (found := list(_TIME.finditer(text[-400:]))):
        return None
    year, _, month, day, hour, minute, second, part, zone = found[-1].groups()
    try:
        at = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second))
    except ValueError:
        return None
    if not 1990 <= at.year < 2200:  # no time of a log, and no 64 bits for it
        return None
    ns = timegm(at.timetuple()) * SECOND_NS + int((part or "").ljust(9, "0"))
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        away = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        ns -= (-away if zone[0] == "-" else away) * SECOND_NS
    return Clock(ns, zone is not None)


def clock_of(line: Line, before: str) -> Clock | None:
    """When a line was printed: by itself, else by the container's log around it."""
    return clock_in(before) or (clock_in(line.printed.time) if line.printed.time else None)


def is_quoted(before: str) -> bool:
    """Whether what stands before a step shows that a program's text or prose quotes it."""
    return bool(_QUOTING.search(before))


def _rounded(value: Decimal) -> int:
    if abs(value) > Decimal("1e19"):
        return 1 << 64  # not worth its digits: out of range
    return int(value.to_integral_value(ROUND_HALF_EVEN))
