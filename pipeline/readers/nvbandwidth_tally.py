"""What was found in nvbandwidth's output, and what was left out, in text and in JSON alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.readers.nvbandwidth_matrix import Cells, Row
from pipeline.readers.record import Issue, Status
from pipeline.readers.text import Skipped

STATUSES = {"waived": "waived", "error": "error", "not found": "not_found"}


@dataclass
class Tally:
    """Counts of one file; ``settings`` and ``version`` are what it says of itself."""

    skipped: Skipped = field(default_factory=Skipped)
    errors: list[Issue] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    version: str | None = None
    ended_count: int = 0  # matrices that are known to be whole
    missing_count: int = 0  # tests that were begun and printed nothing
    _zeros: Skipped = field(default_factory=Skipped)
    _matrix_count: int = 0
    _table_count: int = 0

    def next_matrix(self) -> int:
        """The number of the matrix that begins."""
        self._matrix_count += 1
        self._table_count += 1
        return self._table_count - 1

    def unmeasured(self, test: str | None, status: str, line: int) -> Row:
        """The row of a test without numbers."""
        self._table_count += 1
        number = self._table_count - 1
        return {"test": test, "status": status, "table_number": number, "line": line}

    def cell(
        self, cells: Cells, row: int, column: int, word: str, line: int, table: int
    ) -> Iterator[Row]:
        """The row of a matrix's cell; none when the cell holds no value."""
        if cells.is_absent(row, column, word):
            return
        value = cells.value(word)
        if value is None:
            self.skipped.add("a cell that is no number", line, word)
        elif value == 0:
            self._zeros.add("pairs with a value of 0, which is none", line, "")
        else:
            yield {**cells.row(row, column, value), "table_number": table, "line": line}

    def status(self) -> tuple[Status, str]:
        if self.missing_count:
            return "incomplete", "a test case was begun and printed nothing"
        if self.ended_count >= self._matrix_count > 0:
            return "complete", "every test has its end"
        return "unknown", "a matrix has no line of its sum"

    def issues(self) -> list[Issue]:
        found = self.skipped.issues("copy the output again") + self.errors
        for issue in self._zeros.issues():
            found.append(Issue("note", issue.place, issue.problem, "", issue.row_count))
        return found
