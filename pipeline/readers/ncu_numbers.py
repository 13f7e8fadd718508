"""Numbers and units as Nsight Compute prints them: separators of any locale, scaled units.

ncu prints with the locale of the process that prints. Every number is an integer or has exactly
two decimals, so that three digits after a lone separator are thousands, and in a file whose
decimal mark that separator is, they are a contradiction: such a cell stays a text. Two things keep
the C locale whatever the process has: floats with six decimals (raw page, automatic units), and
estimated speedups.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Thousands: en_US, de_DE, fr_FR (a space of any kind), de_CH (an apostrophe of either kind).
_SEPARATORS = ",.'\u2019 \u00a0\u202f"
_NUMBER_LIKE = rf"^-?[0-9][0-9{re.escape(_SEPARATORS)}]*$"
C_FLOAT = r"^-?[0-9]+\.[0-9]{6}$"
_THREE_DECIMALS = r"^-?[1-9][0-9]{0,2}\.[0-9]{3}$"
# As many as decide beyond doubt, few enough to be quick.
_EVIDENCE = 5_000
# Whole numbers and powers of ten that a float holds exactly.
_EXACT, _EXACT_POWERS = 2**53, 22
# What stands where there is no value; ``nan`` is one that could not be computed.
NO_VALUE = frozenset(
    ("", "n/a", "no data", "<null>", "nan", "-nan", "inf", "-inf", "(!) nan", "(!) n/a")
)
_WITH_INSTANCES = re.compile(r"([^()]*?) ?(\([^()]*\))")
_ATOM = re.compile(r"[A-Za-z#%]*")

_SI = {"": 0, "n": -9, "u": -6, "m": -3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
# Base units that ncu scales and their prefixes; others it prints as they are.
_TIMES = {
    **{f"{prefix}second": power for prefix, power in _SI.items() if power <= 0},
    **{f"{prefix}s": power for prefix, power in _SI.items() if power <= 0},
}
# What ncu counts or measures in, above and below the slash, singular.
_ATOMS = frozenset(
    (
        *(
            "",
            "%",
            "ns",
            "s",
            "hz",
            "byte",
            "bit",
            "cycle",
            "inst",
            "instruction",
            "warp",
            "thread",
        ),
        *("block", "register", "sector", "request", "pass", "sample", "SM", "cluster", "branche"),
        *("branch", "CTA", "op", "operation", "flop", "lane", "page", "tag", "transaction", "wave"),
        *("instruction", "access", "group", "warpgroup", "W", "J", "V", "A", "C", "ratio", "count"),
    )
)
_SCALED = re.compile(r"([KMGTPE])(byte|hz|inst|warp|thread|sector|sectors|request|cycle|block)")


@lru_cache(65_536)
def base_unit(unit: str) -> tuple[str, int]:
    """A unit -> (base unit in the spelling of 2025, power of ten that a value is scaled by).

    An unknown unit is its own base.
    """
    above, slash, below = unit.partition("/")
    if not _ATOM.fullmatch(above) or not _ATOM.fullmatch(below):
        return unit, 0
    if above in _TIMES and not slash:
        return "ns", _TIMES[above] + 9
    power = 0
    if scaled := _SCALED.fullmatch(above):
        power, above = _SI[scaled[1]], scaled[2]
    elif above in _TIMES:
        power, above = _TIMES[above] + 9, "ns"
    if below in _TIMES:
        power, below = power - _TIMES[below], "s"
    elif scaled := _SCALED.fullmatch(below):
        power, below = power - _SI[scaled[1]], scaled[2]
    base = f"{above}{slash}{below}"
    return ("hz" if base == "cycle/s" else base), power


def is_known(base: str) -> bool:
    """Whether a base unit is one that ncu prints."""
    above, _, below = base.partition("/")
    return all(part in _ATOMS or part.removesuffix("s") in _ATOMS for part in (above, below))


@dataclass
class Style:
    """How one file writes numbers, decided once from its first numbers with separators.

    ``decimal`` is empty and ``thousands`` too as long as nothing has told.
    """

    decimal: str = ""
    thousands: str = ""
    _decimals: Counter[str] = field(default_factory=Counter)
    _thousands: Counter[str] = field(default_factory=Counter)
    _groups: Counter[str] = field(default_factory=Counter)

    @property
    def is_c(self) -> bool:
        """Whether a plain reading of a number is right: a point can only be the decimal one."""
        return self.decimal == "."

    @property
    def may_be_c(self) -> bool:
        """Whether a plain reading is right for all but three digits after a lone point.

        Some files hold nothing but whole numbers and six decimals, which tell no locale.
        """
        return self.decimal in ("", ".")

    @property
    def is_decided(self) -> bool:
        return bool(self.decimal and self.thousands)

    def learn(self, cells: pa.Array) -> None:
        """Decides what is open still by these texts; what is decided stays."""
        if self.is_decided:
            return
        mask = pc.and_not(
            pc.and_(
                pc.match_substring_regex(cells, _NUMBER_LIKE),
                pc.match_substring_regex(cells, rf"[{re.escape(_SEPARATORS)}]"),
            ),
            pc.match_substring_regex(cells, C_FLOAT),
        )
        for cell in cells.filter(mask)[:_EVIDENCE].to_pylist():
            self._weigh(cell.removeprefix("-"))
        self._decide()

    def _weigh(self, cell: str) -> None:
        separators = [char for char in cell if not char.isdigit()]
        last = separators[-1]
        head, _, tail = cell.rpartition(last)
        if len(set(separators)) > 1:
            if separators.count(last) == 1 and last in ".,":
                self._decimals[last] += 1
                self._thousands[separators[0]] += 1
        elif len(separators) > 1:
            self._thousands[last] += 1
        elif len(tail) == 3 and head != "0" and len(head) <= 3:
            self._groups[last] += 1
        elif last in ".," and tail:
            self._decimals[last] += 1

    def _decide(self) -> None:
        if not self.decimal and self._decimals:
            self.decimal = self._decimals.most_common(1)[0][0]
        for found in (self._thousands, self._groups):
            told = [mark for mark, _ in found.most_common() if mark != self.decimal]
            if not self.thousands and told:
                self.thousands = told[0]
        if self.thousands and not self.decimal:
            # Only whole numbers so far. A space or an apostrophe leaves it open.
            self.decimal = {".": ",", ",": "."}.get(self.thousands, "")

    def pattern(self) -> str:
        """A regular expression of the numbers that this style allows."""
        grouped = ""
        if self.thousands:
            grouped = rf"|[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+"
        if self.decimal in ("", "."):
            # Three digits would be thousands, unless there are too many before them, or a 0.
            mark = r"\." if self.decimal else "[.,]"
            tail = rf"(?:{mark}(?:[0-9]{{1,2}}|[0-9]{{4,}}))?(?:[eE][-+]?[0-9]+)?"
            return rf"^-?(?:(?:[0-9]+{grouped}){tail}|(?:0|[0-9]{{4,}}){mark}[0-9]{{3}})$"
        return rf"^-?(?:[0-9]+{grouped})(?:{re.escape(self.decimal)}[0-9]{{2}})?$"


@dataclass
class Parsed:
    """Numbers (NaN where there is none) and texts (None where there is none) of some cells."""

    values: np.ndarray  # float64
    texts: pa.Array
    odd: list[int]  # cells that look like numbers but not of this file's style
    words: list[int]  # cells that are neither numbers nor what ncu prints where it has none


def _has_doubtful(cells: pa.Array) -> bool:
    """Whether any cell has three digits after a point, which are thousands in other locales."""
    return bool(pc.any(pc.match_substring_regex(cells, _THREE_DECIMALS)).as_py())


def may_be_doubtful(block: bytes) -> bool:
    """Whether a cell of a block of CSV may be so: quick, and wrong only with a yes."""
    found = np.frombuffer(block, np.uint8)
    # A cell ends with its quote or, without quotes, with a comma or its line.
    at = np.flatnonzero(found[:-4] == ord("."))
    ends = found[at + 4]
    is_end = ends == ord('"')
    if block[:1] != b'"':
        is_end |= (ends == ord(",")) | (ends == ord("\n"))
    at = at[is_end]
    around = found[at[:, None] + np.array([-1, 1, 2, 3])]
    return bool(((around - ord("0")) < 10).all(axis=1).any())


def plain(cells: pa.Array, power: int) -> np.ndarray | None:
    """Cells of the C locale, all numbers, times ten to the ``power``; NULL becomes NaN.

    None when any is no finite number.
    """
    try:
        values = pc.cast(cells, pa.float64())
        if power:
            scaled = pc.binary_join_element_wise(cells, pa.scalar(f"e{power}"), "")
            values = pc.cast(scaled, pa.float64())
    except pa.ArrowInvalid:
        return None
    found: np.ndarray = values.to_numpy(zero_copy_only=False)
    is_sound = np.isfinite(found).sum() == len(cells) - cells.null_count
    return found if is_sound else None


def scaled(values: np.ndarray, power: int) -> np.ndarray:
    """Numbers as printed times ten to the ``power``, each rounded once, as its text would be.

    Six decimals at most, as ncu prints, are whole numbers of millionths, exactly.
    """
    whole, shift = np.rint(values * 1e6), power - 6
    found: np.ndarray = whole * 10.0**shift if shift >= 0 else whole / 10.0**-shift
    is_exact = (np.abs(whole) < _EXACT) & (whole / 1e6 == values) & (abs(shift) <= _EXACT_POWERS)
    for at in np.flatnonzero(~is_exact & np.isfinite(values)).tolist():
        found[at] = float(Decimal(repr(float(values[at]))).scaleb(power))
    return found


def parse(cells: pa.Array, powers: np.ndarray, style: Style) -> Parsed:
    """Cells of any kind, each times ten to its power; NULL is none."""
    if not style.decimal:
        style.learn(cells.drop_null())
    if not powers.any() and style.is_c and not _has_doubtful(cells):
        quick = plain(cells, 0)
        if quick is not None:
            return Parsed(quick, pa.nulls(len(cells), pa.string()), [], [])
    normal = _normal(cells, style)
    if not style.thousands and normal.null_count > cells.null_count:
        style.learn(cells.filter(pc.is_null(normal)).drop_null())
        if style.thousands:
            normal = _normal(cells, style)
    values = _with_powers(normal, powers)
    rest = pc.and_(pc.is_valid(cells), pc.is_null(normal))
    where = np.flatnonzero(rest.to_numpy(zero_copy_only=False))
    texts: list[str | None] = [None] * len(cells) if len(where) else []
    odd: list[int] = []
    words: list[int] = []
    if len(where):
        encoded = cells.filter(rest).dictionary_encode()
        distinct = [_odd_cell(text, style) for text in encoded.dictionary.to_pylist()]
        for row, code in zip(where.tolist(), encoded.indices.to_pylist(), strict=True):
            number, texts[row], doubt = distinct[code]
            if number is not None:
                values[row] = float(f"{number}e{powers[row]}")
            if doubt:
                (odd if doubt == "odd" else words).append(row)
    found = pa.array(texts, pa.string()) if len(where) else pa.nulls(len(cells), pa.string())
    return Parsed(values, found, odd, words)


def _normal(cells: pa.Array, style: Style) -> pa.Array:
    """The numbers among the cells as C writes them, NULL for every other cell."""
    is_c_float = pc.match_substring_regex(cells, C_FLOAT)
    is_number = pc.or_(is_c_float, pc.match_substring_regex(cells, style.pattern()))
    numbers = pc.if_else(is_number, cells, pa.scalar(None, pa.string()))
    if style.is_c and not style.thousands:
        return numbers
    own = numbers
    if style.thousands:
        own = pc.replace_substring(own, style.thousands, "")
    own = pc.replace_substring(own, ",", ".")  # by now it can only be the decimal one
    return pc.if_else(is_c_float, numbers, own)


def _with_powers(normal: pa.Array, powers: np.ndarray) -> np.ndarray:
    # The power goes into the text, so that each number is rounded once only.
    if powers.any():
        tails = pa.array(powers).cast(pa.string())
        plain_tail = pc.if_else(
            pa.array(powers == 0), "", pc.binary_join_element_wise("e", tails, "")
        )
        with_power = pc.binary_join_element_wise(normal, plain_tail, "")
        # A number that has an exponent of its own already: rare, one by one.
        twice = pc.match_substring_regex(with_power, "[eE].*e")
        if pc.any(twice).as_py():
            return np.array(
                [
                    np.nan if text is None else float(text) * 10.0**power
                    for text, power in zip(normal.to_pylist(), powers.tolist(), strict=True)
                ]
            )
        normal = with_power
    values: np.ndarray = pc.cast(normal, pa.float64()).to_numpy(zero_copy_only=False)
    return values.copy()


def _odd_cell(text: str, style: Style) -> tuple[str | None, str | None, str]:
    """A cell that is no plain number: (number as C writes it, text, doubt: odd, word, none)."""
    if text.strip().lower() in NO_VALUE:
        return None, None, ""
    if found := _WITH_INSTANCES.fullmatch(text):
        if not found[1]:
            return None, text, ""
        number = _normal(pa.array([found[1]]), style)[0].as_py()
        if number is not None:
            return number, found[2], ""
        return None, text, "odd" if re.match(_NUMBER_LIKE, found[1]) else "word"
    return None, text, "odd" if re.match(_NUMBER_LIKE, text) else "word"
