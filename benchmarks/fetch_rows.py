"""Read all rows and columns of tables with Python's own sqlite3.

    python benchmarks/fetch_rows.py EXPORT.sqlite TABLE...
    python benchmarks/fetch_rows.py --parquet FOLDER EXPORT.sqlite TABLE...

Keeps nothing, or writes what it read as Parquet: the ingest one writes first, in ten lines.
"""

import argparse
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

BATCH_ROWS = 65_536


def batches(db: sqlite3.Connection, table: str) -> Iterator[list[tuple[object, ...]]]:
    cursor = db.execute(f'SELECT * FROM "{table}"')
    while batch := cursor.fetchmany(BATCH_ROWS):
        yield batch


def write_parquet(db: sqlite3.Connection, table: str, folder: Path) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    types = {"INTEGER": pa.int64(), "TEXT": pa.string(), "REAL": pa.float64()}
    declared = db.execute(f'PRAGMA table_info("{table}")').fetchall()
    schema = pa.schema([(name, types[kind]) for _, name, kind, *_ in declared])
    rows = 0
    with parquet.ParquetWriter(folder / f"{table}.parquet", schema, compression="zstd") as writer:
        for batch in batches(db, table):
            columns = [
                pa.array(values, field.type)
                for values, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            rows += len(batch)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--parquet", type=Path, metavar="FOLDER")
    parser.add_argument("export", metavar="EXPORT.sqlite")
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    args = parser.parse_args()
    db = sqlite3.connect(f"file:{quote(args.export)}?mode=ro&immutable=1", uri=True)
    if args.parquet:
        args.parquet.mkdir(parents=True)
        rows = sum(write_parquet(db, table, args.parquet) for table in args.tables)
    else:
        rows = sum(len(batch) for table in args.tables for batch in batches(db, table))
    print(f"{rows} rows")


if __name__ == "__main__":
    main()
