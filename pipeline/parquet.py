"""How tables are written as Parquet: encodings, compression, row groups.

Measured on kernels, API calls and NVTX ranges: delta coding of times and ids is both the
smallest and the fastest to read back, zstd at level 1 costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import catalog

if TYPE_CHECKING:
    import pyarrow as pa

_ROW_GROUP = 262_144
_ROWS_BUFFERED = 131_072
_ROWS_PER_VALUE_BATCH = 65_536
# Times and ids that rise steadily: delta coding is both the smallest and the fastest to read.
_DELTA = frozenset(("start_ns", "end_ns", "ts_ns", "correlation_id", "bytes", "kernel_id"))
# Texts that are mostly distinct, for which a dictionary only costs.
_NO_DICTIONARY = frozenset(
    (
        ("nvtx_range", "name"),
        ("kernel_name", "name"),
        ("gpu_sample", "value"),
        ("kernel_metric", "value"),
    )
)
# Tables of so many rows that statistics cost more than they spare: those of columns that
# queries filter by, or join by.
_STATISTICS = {"kernel_metric": ["kernel_id", "metric"]}


def write_parquet(file: Path, table: str, batches: Iterable[pa.RecordBatch]) -> int:
    """Writes the batches of ``table`` to ``file``; the count of rows. No rows, no file.

    Strings may come dictionary-encoded, then in every batch. Raises :class:`TypeError` when a
    batch's schema is not the table's own.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = catalog.arrow_schemas()[table]
    delta = {name: "DELTA_BINARY_PACKED" for name in schema.names if name in _DELTA}
    dictionary = [
        name for name in schema.names if name not in delta and (table, name) not in _NO_DICTIONARY
    ]
    writer: pq.ParquetWriter | None = None
    total = 0
    try:
        for chunk in _chunks(batches, schema):
            if writer is None:
                schema = chunk[0].schema
                writer = pq.ParquetWriter(
                    file,
                    schema,
                    compression="zstd",
                    compression_level=1,
                    use_dictionary=dictionary or False,
                    column_encoding=delta or None,
                    write_statistics=_STATISTICS.get(table, True),
                    # Statistics of dictionary columns are taken once per batch of values.
                    write_batch_size=_ROWS_PER_VALUE_BATCH,
                    store_schema=False,
                )
            writer.write_table(pa.Table.from_batches(chunk, schema), row_group_size=_ROW_GROUP)
            total += sum(batch.num_rows for batch in chunk)
    finally:
        if writer is not None:
            writer.close()
    return total


def _chunks(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[list[pa.RecordBatch]]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        # DuckDB's DDL would cast silently; a reader's batches must have the very types.
        if not _undictionaried(batch.schema).equals(schema):
            raise TypeError(f"a reader's batch is {batch.schema}, the table is {schema}")
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= _ROWS_BUFFERED:
            yield waiting
            waiting, rows = [], 0
    if waiting:
        yield waiting


def _undictionaried(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in schema
        ]
    )
