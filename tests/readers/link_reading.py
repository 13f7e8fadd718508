"""A text in, rows out: how the tests of the readers of links read."""

from pathlib import Path
from types import ModuleType
from typing import Any

from pipeline import catalog
from pipeline.readers.record import NO_HINTS, Head, Hints, NotThisFormat, Refused

Row = dict[str, Any]


class Read:
    """A file that was read: rows by table (columns that are NULL left out), facts, issues."""

    def __init__(self, reader: ModuleType, path: Path, hints: Hints = NO_HINTS) -> None:
        recording = reader.read(path, path.name, 1, hints)
        self.tables: dict[str, list[Row]] = {}
        for part in [*recording.parts, *recording.closing_parts]:
            for batch in part.batches():
                batch.validate(full=True)
                assert batch.schema.equals(catalog.arrow_schemas()[part.table])
                rows = self.tables.setdefault(part.table, [])
                rows += [
                    {k: v for k, v in row.items() if v is not None} for row in batch.to_pylist()
                ]
        recording.close()
        self.facts = recording.facts
        self.refusal = recording.refusal
        self.issues = [(i.place, i.problem, i.row_count) for i in recording.issues]

    def rows(self, table: str, *columns: str) -> list[Any]:
        """Tuples of the columns; values of the only one."""
        found = self.tables.get(table, [])
        if len(columns) == 1:
            return [row.get(columns[0]) for row in found]
        return [tuple(row.get(column) for column in columns) for row in found]


def read_text(reader: ModuleType, folder: Path, text: str | bytes, hints: Hints = NO_HINTS) -> Read:
    path = folder / "text.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Read(reader, path, hints)


def recognises(reader: ModuleType, text: str) -> bool:
    return bool(reader.recognise(Head(text.encode(), "text.log")))


def rows_or_refusal(reader: ModuleType, folder: Path, content: bytes) -> list[Row]:
    """Every row of all tables; none where the reader refuses, as it may."""
    try:
        read = read_text(reader, folder, content)
    except (NotThisFormat, Refused):
        return []
    return [{"table": table, **row} for table, rows in read.tables.items() for row in rows]


def mangled(content: bytes, seed: int, kind: str) -> bytes:
    """``content`` truncated, with its lines in another order, or with some bytes changed."""
    import random

    draw = random.Random(seed)
    if kind == "truncate":
        return content[: draw.randrange(len(content) + 1)]
    if kind == "shuffle":
        lines = content.splitlines(keepends=True)
        draw.shuffle(lines)
        return b"".join(lines)
    changed = bytearray(content)
    for _ in range(draw.randrange(1, 12)):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)
