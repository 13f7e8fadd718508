"""Numbers as tools print them in tables: a whole number of a cell, or None; never half of one."""

from __future__ import annotations

import re
from decimal import Decimal

_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,12})?", re.ASCII)
_NOT_A_NUMBER = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)


def whole(text: str) -> int | None:
    """``65536`` as an integer; None for anything else."""
    return int(text) if _WHOLE.fullmatch(text) else None


def scaled(text: str, scale: int | Decimal) -> float | None:
    """An unsigned decimal number times ``scale``, as exact as a float can be; else None."""
    return float(Decimal(text) * scale) if _NUMBER.fullmatch(text) else None


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def is_undefined(text: str) -> bool:
    """Whether a tool printed that it has no number: nan and inf, of a division by zero."""
    return _NOT_A_NUMBER.fullmatch(text) is not None
