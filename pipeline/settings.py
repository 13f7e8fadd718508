"""``tracelake.toml`` of the working directory: thresholds of one's own.

[thresholds]
kernel_gap_ns = 20000
"""

from __future__ import annotations

import csv
import difflib
import math
import re
import tomllib
from pathlib import Path

from pipeline import catalog
from pipeline.errors import UserError

FILE = "tracelake.toml"


def own_thresholds(path: Path = Path(FILE)) -> dict[str, float]:
    """Thresholds that the file sets, none where there is no file.

    Raises :class:`UserError` with the line of whatever is not a threshold and its number.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(str(path), f"cannot be read: {error}", "mend or remove it") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(str(path), f"not TOML: {error}", "mend or remove it") from error
    thresholds = content.pop("thresholds", {})
    for name in content:
        raise _fault(path, text, name, "unknown key", "known is only [thresholds]")
    if not isinstance(thresholds, dict):
        raise _fault(path, text, "thresholds", "must be a table", "write [thresholds]")
    for name, value in thresholds.items():
        if way_out := unknown(name):
            raise _fault(path, text, name, "no such threshold", way_out)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise _fault(path, text, name, "must be a number", "in the unit that the name ends in")
    return {name: float(value) for name, value in thresholds.items()}


def unknown(name: str) -> str:
    """Which threshold may have been meant; empty where ``name`` is one."""
    known = _known()
    if name in known:
        return ""
    near = difflib.get_close_matches(name, known, 1) or [one for one in known if name in one]
    return f"did you mean '{near[0]}'?" if near else "see 'tracelake query threshold'"


def _known() -> list[str]:
    with catalog.reference()["threshold"].open(encoding="utf-8", newline="") as file:
        return [row["name"] for row in csv.DictReader(file)]


def _fault(path: Path, text: str, name: str, problem: str, way_out: str) -> UserError:
    """``problem`` of the key ``name``, with the line on which that stands."""
    key = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[=\].]""")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if key.match(line)]
    place = f"{path}:{lines[0]}" if lines else str(path)
    return UserError(place, f"'{name}': {problem}", way_out)
