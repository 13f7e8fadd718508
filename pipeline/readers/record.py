"""What a reader gives: facts about a file, pieces that yield record batches, and issues."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa

Severity = Literal["error", "warning", "note"]
Status = Literal["complete", "incomplete", "unknown", "refused"]


class NotThisFormat(Exception):
    """The content looked right at first, but is another program's; str() says what it is."""


class Refused(Exception):
    """The file is of this format but cannot be used: what is wrong, and the way out."""

    def __init__(self, problem: str, way_out: str) -> None:
        super().__init__(problem, way_out)
        self.problem = problem
        self.way_out = way_out


@dataclass(frozen=True)
class Issue:
    """Something skipped or doubtful. ``place`` is below the file: a table, a line, or empty."""

    severity: Severity
    place: str
    problem: str
    way_out: str = ""
    row_count: int | None = None


@dataclass
class Facts:
    """What is known about a source file as a whole; see schemas/source_file.sql."""

    format: str
    schema_version: str | None = None
    tool_version: str | None = None
    capture_version: str | None = None
    host: str | None = None
    rank: int | None = None
    capture_start_utc_ns: int | None = None
    capture_dur_ns: int | None = None
    status: Status = "unknown"
    status_reason: str | None = None


@dataclass(frozen=True)
class Part:
    """One independent piece of a table: calling ``batches`` reads it, in bounded memory.

    The batches have the table's Arrow schema exactly. Parts may be read in any order
    and by several threads at once.
    """

    table: str
    batches: Callable[[], Iterator[pa.RecordBatch]]


@dataclass
class Recording:
    """A file opened by a reader.

    ``parts`` are read first, then ``closing_parts`` one after the other (small tables that
    are known only when everything else has been read), then ``facts`` and ``issues`` hold.
    """

    facts: Facts
    parts: list[Part]
    closing_parts: list[Part] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    close: Callable[[], None] = lambda: None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def report(self, issue: Issue) -> None:
        """Adds an issue; safe to call from several threads."""
        with self._lock:
            self.issues.append(issue)
