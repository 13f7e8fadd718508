"""Lines of a dmon log that are none of its rows: whose they are, and what is lost with them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipeline.readers import dcgm_dmon_lines as dmon
from pipeline.readers.foreign_lines import Strays, begins_other, is_of_other, is_row_of_other
from pipeline.readers.launcher_prefix import announced_host
from pipeline.readers.text import Skipped

_FEWEST_IN_PLACE = 3
_ENTITY_LIKE = re.compile(r"\s*(?:GPU|LINK|Switch|CPU|vGPU)\b")


@dataclass
class Others:
    """Takes such lines in their order, with what stands between them.

    dmon's table has no end mark: a line that nobody knows is within it when a row follows.
    """

    skipped: Skipped
    gaps: int = 0  # where somebody cut lines out
    stop_line: int = 0  # where dmon says that it was stopped
    _strays: Strays = field(default_factory=Strays)
    _is_over: bool = False  # a block of another format began
    _is_paused: bool = False  # a blank line stands above

    def begin(self, is_same: bool) -> None:
        """A header, of the same columns as the one before or not."""
        if is_same and not self._is_paused and not self._is_over:
            self._strays.tell(self.skipped)
        self._strays.drop()
        self._is_over = self._is_paused = False

    def row(self) -> None:
        """One or more rows."""
        self._strays.tell(self.skipped)
        self._is_paused = False

    def take(self, number: int, line: str, layout: dmon.Layout) -> None:
        """A line below a header that is no row."""
        text = line.strip()
        if not text:
            self._is_paused = True
        elif text in ("...", "\u2026"):
            self.gaps += 1
        elif text.startswith("dmon was stopped"):
            self.stop_line = number
        elif begins_other(line, "dcgm_dmon"):
            self._strays.drop()
            self._is_over = True
        elif (
            dmon.UNITS.match(line)
            or announced_host(text)
            or is_of_other(line)
            or is_row_of_other(line)
        ):
            return
        elif _looks_like_row(line, layout, self._is_over):
            self.skipped.add("a row that does not say whose it is", number, line)
        elif not self._is_over:
            self._strays.hold(number, line)

    def finish(self, has_row: bool) -> None:
        """The log is over: in one without any row, what was held says why."""
        if not has_row:
            self._strays.tell(self.skipped)


def _looks_like_row(line: str, layout: dmon.Layout, is_over: bool) -> bool:
    """Whether the entity of a row is damaged, but not its cells."""
    tokens = line.split()
    values = sum(map(dmon.is_value, tokens))
    if layout.starts:
        in_place = sum(
            dmon.is_value(line[start:].split(None, 1)[0])
            for start in layout.starts
            if line[start - 1 : start].isspace() and line[start : start + 1].strip()
        )
        # Few numbers may stand in place by chance, where another format is known to be.
        if in_place == len(layout.starts) and (not is_over or in_place >= _FEWEST_IN_PLACE):
            return True
    if is_over or layout.is_bare:
        return False
    return bool(_ENTITY_LIKE.match(line)) and values > 0 and 2 * values >= len(layout.names)
