"""One Nsight Systems SQLite export in the making: strings, rows, and at last the file."""

import sqlite3
import struct
from typing import Any

import nsys_schema
from description import Job, Process, TraceFile, global_pid
from simulation import Recording

SQLITE_VERSION = 3045001  # written into the header, whichever library made the file


class NsysFile:
    """The tables of one file, filled row by row."""

    def __init__(self, job: Job, trace: TraceFile, recordings: list[Recording]) -> None:
        self.job = job
        self.trace = trace
        self.recordings = recordings
        self.generation = trace.exporter
        self.exporter = nsys_schema.EXPORTERS[trace.exporter]
        first = recordings[0].process
        self.host = first.host
        self.utc = job.utc_epoch_ns(first)
        self.shift = self.utc if trace.time_shift else 0
        self.end = max(recording.end for recording in recordings) + 1_000_000
        self.strings = {"[Unknown]": 0, "": 1}
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def text(self, value: str) -> int:
        """The id of a string."""
        return self.strings.setdefault(value, len(self.strings))

    def add(self, table: str, **values: Any) -> None:
        """One row; times are the capture's and are shifted here when the export is."""
        if not nsys_schema.is_in(table, self.generation):
            return
        for key in ("start", "end"):
            if values.get(key) is not None:
                values[key] += self.shift
        self.rows.setdefault(table, []).append(values)

    def environment(self, index: int) -> dict[str, str]:
        """The environment of one process, private parts included, as a capture has it."""
        process = self.recordings[index].process
        own: dict[str, str] = {**self.job.environment, **process.environment}
        if process.rank is not None and len(self.recordings) == 1:
            own |= {"RANK": str(process.rank), "LOCAL_RANK": str(process.local_rank)}
        return {"HOME": "/home/someone", **own}

    def tid(self, process: Process, thread: str) -> int:
        """A thread's serialised id."""
        return global_pid(process) + process.pid + self.job.threads[thread]

    def write(self) -> bytes:
        """The finished SQLite file."""
        for value, number in self.strings.items():
            self.add("StringIds", id=number, value=value)
        connection = sqlite3.connect(":memory:")
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("BEGIN")
        for table in nsys_schema.tables(self.generation):
            rows = self.rows.get(table, [])
            if not rows and self.trace.lazy:
                continue
            connection.execute(nsys_schema.create_table(table, self.generation))
            insert(connection, table, self.generation, rows)
        connection.commit()
        content = bytearray(connection.serialize())
        connection.close()
        content[24:28] = content[92:96] = struct.pack(">I", 1)
        content[96:100] = struct.pack(">I", SQLITE_VERSION)
        return bytes(content)


def insert(
    connection: sqlite3.Connection, table: str, generation: str, rows: list[dict[str, Any]]
) -> None:
    """Rows into one table; a column nobody filled is NULL, or 0 where it may not be."""
    columns = nsys_schema.columns(table, generation)
    # A blob lies in binaryData though that is declared as TEXT, as in real exports.
    marks = ", ".join(
        "CAST(? AS TEXT)" if "TEXT" in rule and name != "binaryData" else "?"
        for name, rule in columns
    )
    connection.executemany(
        f'INSERT INTO "{table}" VALUES ({marks})',
        [
            [row.get(name, 0 if "NOT NULL" in rule else None) for name, rule in columns]
            for row in rows
        ],
    )
