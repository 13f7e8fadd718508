"""For tests of telemetry readers: text in, rows of ``gpu_sample`` out."""

from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pipeline.readers.record import NO_HINTS, Hints, NotThisFormat, Recording, Refused

Row = dict[str, Any]


class Result(NamedTuple):
    """All rows of the tables, and the recording after they were read."""

    samples: list[Row]
    devices: list[Row]
    recording: Recording

    @property
    def problems(self) -> list[str]:
        return [issue.problem for issue in self.recording.issues]

    def brief(self, *columns: str) -> list[tuple[Any, ...]]:
        """The samples as tuples of some columns."""
        return [tuple(row[column] for column in columns) for row in self.samples]

    def series(self, metric: str) -> list[tuple[Any, Any, Any]]:
        """GPU, time (round where there is none) and value of the samples of one metric."""
        return [
            (row["gpu_id"], row["tick"] if row["ts_ns"] is None else row["ts_ns"], row["value"])
            for row in self.samples
            if row["metric"] == metric
        ]


def read_file(reader: ModuleType, file: Path, hints: Hints = NO_HINTS) -> Result:
    """A file through one reader, whether it recognises it or not."""
    recording = reader.read(file, file.name, 1, hints)
    tables: dict[str, list[Row]] = {"gpu_sample": [], "device": []}
    for part in [*recording.parts, *recording.closing_parts]:
        for batch in part.batches():
            tables[part.table] += batch.to_pylist()
    return Result(tables["gpu_sample"], tables["device"], recording)


def read_text(
    reader: ModuleType, folder: Path, text: str | bytes, hints: Hints = NO_HINTS
) -> Result:
    """A text through one reader."""
    file = folder / "text"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_file(reader, file, hints)


def kept(reader: ModuleType, folder: Path, content: bytes) -> set[tuple[Any, ...]] | None:
    """Who, what and which value a damaged file still gives, without times; None if refused."""
    try:
        result = read_text(reader, folder, content)
    except (NotThisFormat, Refused):
        return None
    return set(result.brief("gpu_id", "entity", "entity_id", "metric", "value"))
