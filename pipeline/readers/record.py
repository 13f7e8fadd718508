"""What a reader gives: facts about a file, pieces that yield record batches, and issues."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline import catalog
from pipeline.archive import text_encoding

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_PER_BATCH = 65_536

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
class Head:
    """What is known of a file before it is read.

    ``data`` is the beginning of its uncompressed content (4 KiB; of text 4 MiB, and then, once
    the whole file is at hand, its last 256 KiB too), ``name`` its own name without the suffix
    of a compression, ``file`` the uncompressed file where there is one on disk already.
    """

    data: bytes
    name: str = ""
    file: Path | None = None

    @cached_property
    def text(self) -> str:
        """The beginning as text with newlines as ``\\n``; empty when it is no text."""
        encoding = text_encoding(self.data)
        if encoding is None:
            return ""
        text = self.data.decode(encoding, "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class Hints:
    """What the user says of files that don't say it themselves; see ``tracelake ingest``."""

    host: str | None = None
    sample_interval_ns: int | None = None

    def __str__(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in sorted(vars(self).items()) if v is not None)


NO_HINTS = Hints()


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
    capture_start_local_ns: int | None = None
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
    are known only when everything else has been read), then ``facts`` and ``issues`` hold, and
    ``refusal`` says so if the file turned out to hold nothing that can be used.
    """

    facts: Facts
    parts: list[Part]
    closing_parts: list[Part] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    refusal: Refused | None = None
    close: Callable[[], None] = lambda: None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def report(self, issue: Issue) -> None:
        """Adds an issue; safe to call from several threads."""
        with self._lock:
            self.issues.append(issue)


def row_batches(table: str, rows: Iterable[Mapping[str, object]]) -> Iterator[pa.RecordBatch]:
    """Rows as record batches of ``table``'s own schema; a column that a row lacks is NULL."""
    import pyarrow as pa

    schema = catalog.arrow_schemas()[table]
    rows = iter(rows)
    while some := list(islice(rows, _ROWS_PER_BATCH)):
        yield pa.RecordBatch.from_pylist(some, schema=schema)
