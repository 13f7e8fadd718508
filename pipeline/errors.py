"""The one error that users see: what is wrong, where, and the way out."""

from __future__ import annotations

from pipeline import units


class UserError(Exception):
    """A fault of input or usage, told in one line.

    ``place`` is the file (with line or table where known) or option at fault,
    ``problem`` says what is wrong there, ``way_out`` what the user can do.
    """

    def __init__(self, place: str, problem: str, way_out: str) -> None:
        super().__init__(place, problem, way_out)
        self.place = place
        self.problem = problem
        self.way_out = way_out

    def __str__(self) -> str:
        text = f"{self.place}: {self.problem}"
        if self.way_out:
            text += f"; {self.way_out}"
        # One line that steers no terminal, whatever a file name or a driver's message contains.
        return units.printable(" ".join(text.split()))
