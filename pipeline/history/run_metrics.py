"""Each run's numbers by which runs are compared, made once per run and kept in the store.

A metric view takes part by saying ``Better:`` in its header. ``Value:`` names its columns, each
with a direction of its own where it differs (``Value: step_ns, tokens_per_s higher.``); without
it those count whose unit fits the direction. ``Key:`` names the columns that tell several numbers
of a run apart; without it, those of the grain that do not say where or when in the run a row was
measured. ``Samples:`` names the column that counts what one row rests on, ``Where:`` a condition
on rows that count.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pipeline import __version__, catalog

if TYPE_CHECKING:
    import duckdb

    from pipeline.store import Store

DERIVED = "derived"
_TABLES = ("run_metric", "run_step_part", "run_condition")
# Where or when inside a run a row was measured: a run's number is taken over all of them.
_PLACES = frozenset(
    [
        "run_id",
        "source_id",
        "host",
        "rank",
        "process",
        "device_id",
        "device_key",
        "gpu_id",
        "gpu_key",
        "entity_id",
        "step",
        "attempt",
        "instance",
        "window_index",
        "stream_id",
        "thread",
    ]
)
_UNIT = re.compile(
    r"(?:^|_)(bytes_per_s|flops_per_s|per_s|share|celsius|bytes|count|hz|ns|w|j)"
    r"(?:_per_gpu|_of_\w+)?$"
)
# With no Value line, only columns of these units are what the direction speaks of: totals of
# a capture, counts and places in time are not.
_FITTING = {
    "lower": re.compile(r"(_share|(median|mean|p\d+|max|min)\w*_ns)$"),
    "higher": re.compile(r"(_per_s\w*|_share|_efficiency|_hz)$"),
}
# So many runs, or rows of them, are made at a time: to bind the views takes longer than to ask
# a small run.
_BATCH_RUNS = 500
_BATCH_ROWS = 3_000_000


@dataclass(frozen=True)
class Metric:
    """A column of a metric view as it goes into run_metric."""

    view: str
    column: str
    better: str
    keys: tuple[str, ...]
    samples: str
    has_steps: bool
    conditions: tuple[str, ...]

    @property
    def unit(self) -> str | None:
        found = _UNIT.search(self.column)
        return found[1] if found else None


def metrics_of(query: catalog.Query) -> list[Metric]:
    """The columns of a view by which runs are compared; none when it has no direction."""
    if not query.better:
        return []
    columns = [column.name for column in query.columns]
    grain = query.grain[query.grain.rindex("(") :] if "(" in query.grain else ""
    named = re.findall(r"\w+", query.keys if query.keys is not None else grain)
    keys = tuple(name for name in named if name in columns and name not in _PLACES)
    conditions = (
        *(["exclusion IS NULL"] if "exclusion" in columns else []),
        *([query.where] if query.where else []),
    )
    found = []
    for entry in query.values.split(",") if query.values else _fitting(query, columns):
        column, _, better = entry.strip().partition(" ")
        found.append(
            Metric(
                query.name,
                column,
                better.strip() or query.better,
                keys,
                query.samples,
                bool(re.search(r"\bstep\b", grain)),
                conditions,
            )
        )
    return found


def _fitting(query: catalog.Query, columns: Sequence[str]) -> list[str]:
    return [name for name in columns if _FITTING[query.better].search(name)]


@cache
def every_metric() -> tuple[Metric, ...]:
    """All columns by which runs are compared."""
    views = (query for query in catalog.queries().values() if query.layer == "metrics")
    return tuple(metric for query in views for metric in metrics_of(query))


def _select(metric: Metric, statistic: str) -> str:
    """One metric of every run in sight, by the columns of run_metric."""
    parts = (f"'{key}=' || nullif({key}::VARCHAR, '')" for key in metric.keys)
    key = f"concat_ws(', ', {', '.join(parts)})" if metric.keys else "''"
    value = f"{metric.column}::DOUBLE"
    number = f"median({value})" if statistic == "median" else f"quantile_cont({value}, 0.95)"
    samples = f"coalesce(sum({metric.samples}), count(*))" if metric.samples else "count(*)"
    where = " AND ".join((f"isfinite({value})", *metric.conditions))
    # Of one row there is no 95th percentile beside its value.
    having = " HAVING count(*) > 1" if statistic == "p95" else ""
    return (
        f"SELECT run_id, '{metric.view}', '{metric.column}', "
        f"'{statistic}', {key} AS key, "
        f"{repr(metric.unit) if metric.unit else 'NULL'}, '{metric.better}', "
        f"{number}, {samples}::BIGINT, stddev_samp({value}) "
        f"FROM {metric.view} WHERE {where} GROUP BY run_id, key{having}"
    )


def _statements() -> Iterable[str]:
    for metric in every_metric():
        yield _select(metric, "median")
        if metric.has_steps:
            yield _select(metric, "p95")


def derive(store: Store, on_run: Callable[[int, int], None] = lambda _done, _all: None) -> int:
    """Makes the numbers of every run that has none, or whose files or queries have changed
    since; the count of runs made."""
    wanted = stamps(store)
    known = _known_stamps(store)
    stale = [run for run, stamp in wanted.items() if known.get(run) != stamp]
    done = 0
    for batch in _batches(store, stale):
        _derive(store, batch, wanted)
        done += len(batch)
        on_run(done, len(stale))
    return len(stale)


def _batches(store: Store, runs: Sequence[str]) -> Iterable[list[str]]:
    if not runs:
        return
    counted = store.bare(["source_file"], runs if len(runs) < _BATCH_RUNS else None).execute(
        "SELECT run_id, sum(row_count) FROM source_file GROUP BY run_id"
    )
    sizes = {run: int(rows) for run, rows in counted.fetchall()}
    batch: list[str] = []
    rows = 0
    for run in runs:
        if batch and (len(batch) == _BATCH_RUNS or rows + sizes.get(run, 0) > _BATCH_ROWS):
            yield batch
            batch, rows = [], 0
        batch.append(run)
        rows += sizes.get(run, 0)
    yield batch


def _known_stamps(store: Store) -> dict[str, str]:
    rows = store.bare(["run_condition"]).execute(
        "SELECT run_id, value_text FROM run_condition WHERE kind = 'stamp'"
    )
    return {run: stamp for run, stamp in rows.fetchall()}


def stamps(store: Store) -> dict[str, str]:
    """What each run's numbers follow from: its files, and how numbers are made from them."""
    made_by = _fingerprint_of_queries()
    return {
        run: hashlib.sha256("\n".join((made_by, *names)).encode()).hexdigest()[:32]
        for run, names in store.contents().items()
    }


@cache
def _fingerprint_of_queries() -> str:
    digest = hashlib.sha256(__version__.encode())
    for folder in ("queries", "schemas"):
        root = catalog.root(folder)
        for file in sorted(root.rglob("*.*")):
            if file.suffix in (".sql", ".csv"):
                digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _derive(store: Store, runs: Sequence[str], made_from: dict[str, str]) -> None:
    views = [*dict.fromkeys(metric.view for metric in every_metric())]
    asked = [*views, "step_time_part", "run_circumstance"]
    connection = store.connect(runs=runs, asked=[], kept=asked)
    rows: dict[str, dict[str, list[tuple[Any, ...]]]] = {
        run: {table: [] for table in _TABLES} for run in runs
    }

    def collect(table: str, statement: str) -> None:
        for run, *row in connection.execute(statement).fetchall():
            rows[run][table].append(tuple(row))

    for statement in _statements():
        collect("run_metric", statement)
    collect(
        "run_step_part",
        "SELECT run_id, part, class, name, shape, launch_count, device_step_count, total_ns "
        "FROM step_time_part ORDER BY ALL",
    )
    collect(
        "run_condition",
        "SELECT run_id, kind, key, value_text FROM run_circumstance "
        "WHERE value_text IS NOT NULL ORDER BY ALL",
    )
    connection.close()
    for run in runs:
        rows[run]["run_metric"].sort(key=lambda row: row[:4])
        rows[run]["run_condition"].append(("stamp", "stamp", made_from[run]))
        keep(store, run, DERIVED, rows[run])


def keep(store: Store, run: str, source: str, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    """Keeps rows made of a run, table by table, in place of what ``source`` held before."""
    import pyarrow as pa

    with store.staging() as staging:
        for table, own in rows.items():
            if own:
                schema = catalog.arrow_schemas()[table]
                columns = [list(column) for column in zip(*own, strict=True)]
                arrays = [
                    pa.array(column, field.type)
                    for column, field in zip(columns, schema, strict=True)
                ]
                staging.write(table, 0, [pa.RecordBatch.from_arrays(arrays, schema=schema)])
        staging.keep(run, source)


def metric_name(view: str, column: str, statistic: str, key: str) -> str:
    """How a metric is called in front of people: ``step_time.step_ns p95 [key]``."""
    name = f"{view}.{column}" + (f" {statistic}" if statistic != "median" else "")
    return f"{name} [{key}]" if key else name


def load(
    connection: duckdb.DuckDBPyConnection,
) -> tuple[list[tuple[Any, ...]], tuple[list[Any], ...]]:
    """Everything in run_metric: the metrics (view, column, statistic, key, unit, better), and as
    columns the number of the metric, the run, value, samples and spread."""
    connection.execute("CREATE TEMP TABLE number AS FROM run_metric")
    metrics = connection.execute(
        "SELECT view_name, metric, statistic, key, any_value(unit), any_value(better) "
        "FROM number GROUP BY view_name, metric, statistic, key "
        "ORDER BY view_name, metric, statistic, key"
    ).fetchall()
    table = connection.sql(
        "SELECT dense_rank() OVER (ORDER BY view_name, metric, statistic, key) - 1 AS place, "
        "run_id, value, sample_count, spread FROM number ORDER BY place, run_id"
    ).to_arrow_table()
    return metrics, tuple(column.to_pylist() for column in table.columns)
