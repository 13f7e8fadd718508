"""Rows in: tables filled by hand, a row a call."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from pipeline import catalog
from pipeline.store import Store

Row = tuple[Any, ...]

COMPUTE = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
_DEEP = 4


@cache
def _kept_empty() -> duckdb.DuckDBPyConnection:
    """No rows, and views of views as tables: to describe a view binds all that it comes to."""
    with tempfile.TemporaryDirectory() as folder:
        return Store.create(Path(folder) / "store").connect(asked=catalog.queries())


@cache
def _columns_of(view: str) -> str:
    described = _kept_empty().execute(f"DESCRIBE {view}").fetchall()
    return ", ".join(f'"{name}" {type_}' for name, type_, *_ in described)


class Trace:
    """Fills the tables; what a test does not care about has a default.

    A device, its process and the name of a kernel come with the first row that needs them.
    Unless said otherwise everything is of process 1, on its device 0, in file ``a``.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._kept: set[str] = set()
        self.known: set[Row] = set()
        self.launch_count = 0

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """For whatever the methods below don't do; what was kept counts as changed by it."""
        self._kept = set()
        return self._connection

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

    def launch(
        self, call: tuple[int, int], work: tuple[int, int], name: str = "gemm", **more: Any
    ) -> None:
        """A kernel that runs in ``work``, launched by a call in ``call``; for another kind of
        work give ``make``, e.g. ``trace.copy``. ``call_name`` and ``thread`` are the call's."""
        self.launch_count += 1
        more.setdefault("correlation_id", 1_000 + self.launch_count)
        own = {"name": more.pop("call_name", "cudaLaunchKernel"), "thread": more.pop("thread", 1)}
        both = {key: more[key] for key in ("source_id", "process", "correlation_id") if key in more}
        self.call(*call, **own, **both)
        if make := more.pop("make", None):
            make(*work, **more)
        else:
            self.kernel(*work, name, **more)

    def overhead(self, start_ns: int, end_ns: int, **more: Any) -> None:
        row = {"process": 1, "thread": 1, "name": "Buffer flush", **more}
        self.insert("profiler_overhead", start_ns=start_ns, end_ns=end_ns, **row)

    def description(self, key: str, value: str, **more: Any) -> None:
        self.insert("run_description", key=key, value_text=value, **more)

    def range(
        self, start_ns: int = 0, end_ns: int | None = 10, name: str | None = "step", **more: Any
    ) -> None:
        row = {"process": 1, "thread": 1, "kind": "push_pop", "domain_id": 0, **more}
        self.process(row["process"])
        self.insert("nvtx_range", start_ns=start_ns, end_ns=end_ns, name=name, **row)

    def sample(self, metric: str, value: float, ts_ns: int | None = 0, **more: Any) -> None:
        row = {"host": "node", "gpu_id": "gpu X", "entity": "gpu", **more}
        self.insert("gpu_sample", metric=metric, value=value, ts_ns=ts_ns, **row)

    def profile(
        self, metrics: dict[str, float | None], name: str = "gemm", kernel_id: int = 0, **more: Any
    ) -> None:
        """A kernel under Nsight Compute: a grid of 8 blocks of 128 threads unless said."""
        row = {"source_id": "ncu", "device_id": 0, "grid_x": 8, "grid_y": 1, "grid_z": 1, **more}
        row = {"block_x": 128, "block_y": 1, "block_z": 1, **row}
        row.setdefault("grid_block_count", row["grid_x"])
        row.setdefault("block_thread_count", row["block_x"])
        self.insert("kernel_profile", name=name, kernel_id=kernel_id, **row)
        where = {key: row[key] for key in ("run_id", "source_id") if key in row}
        for metric, value in metrics.items():
            self.metric(metric, value, kernel_id=kernel_id, **where)

    def metric(self, metric: str | None, value: float | None, **more: Any) -> None:
        row = {"source_id": "ncu", "kernel_id": 0, "is_unit_assumed": False, **more}
        self.insert("kernel_metric", metric=metric, value=value, **row)

    def throughput(
        self, compute: float | None, memory: float | None, name: str = "gemm", **more: Any
    ) -> None:
        """A profiled kernel with this per cent of its compute and memory throughput."""
        metrics = {COMPUTE: compute, MEMORY: memory, **more.pop("metrics", {})}
        self.profile(metrics, name, **more)

    def rounds(self, every_ns: int = 1_000_000_000, **series: Any) -> None:
        """Samples of one GPU at equal distances: a list of values for each metric, or one
        number for all rounds; None is a value that is missing. What is neither a number nor
        a list, and ``device_id``, goes to every row."""
        shared = {
            key: series.pop(key)
            for key in ("run_id", "source_id", "host", "gpu_id", "device_id", "start_ns")
            if key in series
        }
        start_ns = shared.pop("start_ns", 0)
        length = max(len(values) for values in series.values() if isinstance(values, list))
        for metric, values in series.items():
            listed = values if isinstance(values, list) else [values] * length
            for place, value in enumerate(listed):
                if value is not None:
                    self.sample(metric, value, start_ns + place * every_ns, **shared)

    def file(self, source_id: str = "a", **more: Any) -> None:
        """A source file, and when it began."""
        row = {"path": source_id, "size_bytes": 1, "row_count": 1, "status": "complete", **more}
        self._once("source_file", (source_id,), source_id=source_id, **row)

    def threshold(self, name: str, value: float) -> None:
        self.connection.execute("UPDATE threshold SET value = ? WHERE name = ?", [value, name])

    def ask(self, sql: str) -> list[Row]:
        self._keep_deep(sql)
        return self._connection.execute(sql).fetchall()

    def only(self, sql: str) -> dict[str, Any]:
        """The only row, by column."""
        self._keep_deep(sql)
        cursor = self._connection.execute(sql)
        names = [name for name, *_ in cursor.description or []]
        (row,) = cursor.fetchall()
        return dict(zip(names, row, strict=True))

    # Several ranks, each with a file and a device of its own unless said otherwise.

    def rank(
        self, rank: int, source_id: str | None = None, utc_ns: int | None = None, **more: Any
    ) -> dict[str, Any]:
        """A rank with its file, process and GPU; what its rows carry."""
        where = {"process": rank + 1, "source_id": source_id or f"rank {rank}"}
        file = {"source_id": where["source_id"], "path": where["source_id"], "size_bytes": 1}
        file |= {"row_count": 1, "status": "complete", "capture_start_utc_ns": utc_ns}
        self._once("source_file", (where["source_id"],), **file)
        self.process(rank=rank, **where, **more)
        self.device(**where)
        return where

    def launched(
        self, where: dict[str, Any], start_ns: int, end_ns: int, name: str = "gemm", **more: Any
    ) -> None:
        """A kernel and the call that launched it, at its start unless ``call_ns`` says when."""
        call_ns = more.pop("call_ns", start_ns)
        self.correlation = getattr(self, "correlation", 0) + 1
        self.call(call_ns, call_ns, correlation_id=self.correlation, **where)
        self.kernel(start_ns, end_ns, name, correlation_id=self.correlation, **where, **more)

    def step(self, where: dict[str, Any], start_ns: int, end_ns: int, name: str) -> None:
        """The range of a training step on the host."""
        more = {"thread": 1, "kind": "push_pop", "domain_id": 0, "name": name, **where}
        self.insert("nvtx_range", start_ns=start_ns, end_ns=end_ns, **more)

    def stand_in(self, view: str) -> None:
        """From now on the rows of ``view`` are those of :meth:`given`, whatever the tables hold."""
        if ("given", (view,)) not in self.known:
            self.known.add(("given", (view,)))
            self.connection.execute(f"CREATE TEMP TABLE {view} ({_columns_of(view)})")

    def given(self, view: str, **values: Any) -> None:
        """A row that ``view`` is taken to have; what is left out is NULL."""
        self.stand_in(view)
        row = {"run_id": "run", **values}
        marks = ", ".join("?" * len(row))
        sql = f"INSERT INTO temp.{view} ({', '.join(row)}) VALUES ({marks})"
        self.connection.execute(sql, list(row.values()))

    def _keep_deep(self, sql: str) -> None:
        """A view of many views takes DuckDB seconds to plan, unless what it reads is at hand."""
        views = set(catalog.named_in(sql))
        if not views <= self._kept and len(self._repeated(views)) >= _DEEP:
            self.keep_for(*views)
            self._kept = views

    def _repeated(self, views: Iterable[str]) -> set[str]:
        given = {key[0] for name, key in self.known if name == "given"}
        return catalog.used_repeatedly(views, given)

    def keep_for(self, *views: str) -> None:
        """Computes now, once, what these views come to more than once, as the store does."""
        repeated = self._repeated(views)
        kept = [name for name in catalog.queries() if name in repeated]
        for name in kept:
            self._connection.execute(f"DROP TABLE IF EXISTS temp.{name}")
        for name in kept:
            self._connection.execute(f"CREATE TEMP TABLE {name} AS FROM main.{name}")
