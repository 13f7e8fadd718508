"""Rows in: tables filled by hand, a row a call."""

import zlib
from typing import Any

import duckdb

Row = tuple[Any, ...]


class Trace:
    """Fills the tables; what a test does not care about has a default.

    A device, its process and the name of a kernel come with the first row that needs them.
    Unless said otherwise everything is of process 1, on its device 0, in file ``a``.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.known: set[Row] = set()

    def insert(self, table: str, **values: Any) -> None:
        row = {"run_id": "run", "source_id": "a", **values}
        marks = ", ".join("?" * len(row))
        sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
        self.connection.execute(sql, list(row.values()))

    def _once(self, table: str, key: Row, **values: Any) -> None:
        if (table, key) not in self.known:
            self.known.add((table, key))
            self.insert(table, **values)

    def process(self, process: int = 1, rank: int | None = 0, **more: Any) -> None:
        row = {"source_id": "a", "process": process, "rank": rank, "host": "node", **more}
        self._once("process", (row["source_id"], process), **row)

    def device(self, process: int = 1, device_id: int = 0, **more: Any) -> None:
        row = {"source_id": "a", "process": process, "device_id": device_id, **more}
        row.setdefault("gpu_id", f"gpu {process}.{device_id}")
        self._once("device", (row["source_id"], process, device_id), **row)
        self.process(process, source_id=row["source_id"])

    def _work(self, table: str, start_ns: int, end_ns: int, more: dict[str, Any]) -> None:
        row = {"source_id": "a", "process": 1, "device_id": 0, "stream_id": 7, **more}
        self.device(row["process"], row["device_id"], source_id=row["source_id"])
        self.insert(table, start_ns=start_ns, end_ns=end_ns, **row)

    def kernel(self, start_ns: int = 0, end_ns: int = 10, name: str = "gemm", **more: Any) -> None:
        name_id = zlib.crc32(name.encode())
        source_id = more.get("source_id", "a")
        row = {"source_id": source_id, "name_id": name_id, "name": name, "short_name": name}
        self._once("kernel_name", (source_id, name), **row)
        self._work("kernel", start_ns, end_ns, {"name_id": name_id, **more})

    def graph(self, start_ns: int = 0, end_ns: int = 10, **more: Any) -> None:
        self._work("graph_launch", start_ns, end_ns, more)

    def copy(self, start_ns: int = 0, end_ns: int = 10, **more: Any) -> None:
        self._work("memory_copy", start_ns, end_ns, {"bytes": 100, "kind": "HtoD", **more})

    def set(self, start_ns: int = 0, end_ns: int = 10, **more: Any) -> None:
        self._work("memory_set", start_ns, end_ns, {"bytes": 100, "memory": "device", **more})

    def call(
        self, start_ns: int = 0, end_ns: int = 1, name: str = "cudaLaunchKernel", **more: Any
    ) -> None:
        name_id = zlib.crc32(name.encode())
        row = {"source_id": "a", "process": 1, "thread": 1, "return_code": 0, **more}
        names = {"name_id": name_id, "name": name, "versioned_name": f"{name}_v7000"}
        self._once("api_name", (row["source_id"], name), source_id=row["source_id"], **names)
        self.process(row["process"], source_id=row["source_id"])
        self.insert("api_call", start_ns=start_ns, end_ns=end_ns, name_id=name_id, **row)

    def range(
        self, start_ns: int = 0, end_ns: int | None = 10, name: str | None = "step", **more: Any
    ) -> None:
        row = {"process": 1, "thread": 1, "kind": "push_pop", "domain_id": 0, **more}
        self.process(row["process"])
        self.insert("nvtx_range", start_ns=start_ns, end_ns=end_ns, name=name, **row)

    def sample(self, metric: str, value: float, ts_ns: int | None = 0, **more: Any) -> None:
        row = {"host": "node", "gpu_id": "gpu X", "entity": "gpu", **more}
        self.insert("gpu_sample", metric=metric, value=value, ts_ns=ts_ns, **row)

    def threshold(self, name: str, value: float) -> None:
        self.connection.execute("UPDATE threshold SET value = ? WHERE name = ?", [value, name])

    def ask(self, sql: str) -> list[Row]:
        return self.connection.execute(sql).fetchall()

    def only(self, sql: str) -> dict[str, Any]:
        """The only row, by column."""
        cursor = self.connection.execute(sql)
        names = [name for name, *_ in cursor.description or []]
        (row,) = cursor.fetchall()
        return dict(zip(names, row, strict=True))
