"""What a reader of collective benchmarks makes of a file."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline import catalog
from pipeline.readers import nccl_tests


class Read:
    """A log or report that was read as ingest does."""

    def __init__(self, path: Path, reader: Any = nccl_tests) -> None:
        self.recording = reader.read(path, path.name, 1)
        found: dict[str, list[dict[str, Any]]] = {}
        for part in [*self.recording.parts, *self.recording.closing_parts]:
            for batch in part.batches():
                batch.validate(full=True)
                assert batch.schema.equals(catalog.arrow_schemas()[part.table])
                found.setdefault(part.table, []).extend(pa.Table.from_batches([batch]).to_pylist())
        self.rows = found.get("collective_benchmark", [])
        self.tests = found.get("collective_benchmark_run", [])
        self.devices = found.get("collective_benchmark_device", [])
        self.facts = self.recording.facts
        self.refusal = self.recording.refusal
        self.issues = [issue.problem for issue in self.recording.issues]

    def values(self, *columns: str) -> list[Any]:
        return [tuple(row[c] for c in columns) for row in self.rows]
