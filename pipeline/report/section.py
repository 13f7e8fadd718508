"""What a section is made of: tables, charts and headline figures, each with its source.

A section is a module with ``VIEWS``, the views it reads, and ``section(connection)``. It asks
SQL for exactly what it shows; nothing here or in it calculates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import polars as pl

Spec = dict[str, Any]

# More rows than a person reads; the rest is one query away.
ROWS_SHOWN = 50
# More rows of devices than a screen holds; beyond, these many are drawn (see DRAWN_DEVICES).
DEVICES_DRAWN = 32

NO_GPU = "No GPU activity was captured."
COLLECT_GPU = "No GPU activity was captured; capture with 'nsys profile --trace=cuda,nvtx'."

# One readable name for each device, as short as the run allows.
LABELLED_DEVICES = """labelled_device AS (
    SELECT
        d.source_id,
        d.process,
        d.device_id,
        row_number() OVER (
            ORDER BY d.rank, d.host, f.path, d.process, d.device_id
        ) AS position,
        CASE
            WHEN d.rank IS NOT NULL AND count(*) OVER (PARTITION BY d.rank) = 1
                THEN 'rank ' || d.rank
            WHEN count(*) OVER (PARTITION BY d.host, d.device_id) = 1
                THEN concat_ws(' ', 'rank ' || d.rank, d.host, 'device ' || d.device_id)
            ELSE concat_ws(' ', f.path, 'device ' || d.device_id,
                CASE WHEN count(*) OVER (PARTITION BY d.source_id, d.device_id) > 1
                    THEN 'process ' || d.process END)
        END AS device
    FROM traced_device AS d
    JOIN source_file AS f USING (run_id, source_id)
)"""

# Every device where they fit, else some of them: evenly spaced in the order of busy_share.
DRAWN_DEVICES = f"""{LABELLED_DEVICES},
ordered AS (
    SELECT l.*, ntile({DEVICES_DRAWN}) OVER (ORDER BY t.busy_share, l.position) AS tile
    FROM labelled_device AS l
    JOIN nccl_time_share AS t USING (source_id, process, device_id)
),
drawn_device AS (
    SELECT unnest(arg_max(ordered, position)) FROM ordered GROUP BY tile
)"""


@dataclass(frozen=True)
class Source:
    """Where numbers come from: the view to name, and the SELECT that was drawn."""

    view: str
    sql: str


@dataclass(frozen=True)
class Table:
    """Rows for a person; ``columns`` are the names of the SELECT, which carry the units.

    ``bars`` maps a column to the one that says how long its bar is, from 0 to 1.
    """

    name: str
    caption: str
    source: Source
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    row_count: int
    bars: Mapping[str, str]


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite chart; ``alt`` says in words what it shows. Two narrow ones share a line.

    ``zoom`` names the selection that a reader may move and scale, for its buttons.
    """

    name: str
    caption: str
    alt: str
    source: Source
    spec: Spec
    is_narrow: bool = False
    zoom: str = ""


@dataclass(frozen=True)
class Figure:
    """One number of the headline: its middle over the devices, and its range."""

    label: str
    column: str
    value: object
    view: str
    meaning: str
    lowest: object = None
    highest: object = None
    of: object = None


@dataclass(frozen=True)
class Wall:
    """What one wall costs, as a line of the verdict: ``share`` is NULL when it is not known."""

    name: str
    subject: str
    mark: str  # wall, open or empty
    share: float | None
    cost: str
    note: str
    source: Source


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, with the rows that show it."""

    severity: str
    statement: str
    subject: str
    detail: str
    value: str
    limit: str
    cost: str
    hint: str
    source: Source


@dataclass(frozen=True)
class Verdict:
    """What the page says first; ``record`` is what the index of runs shows of it."""

    kind: str
    sentence: str
    confidence: str
    trust: tuple[str, ...]
    doubts: tuple[str, ...]
    savings: tuple[tuple[str, str], ...]
    walls: tuple[Wall, ...]
    findings: tuple[Finding, ...]
    finding_count: int
    needs: tuple[tuple[str, str, str], ...]  # what, by which command, and where to run it
    record: Mapping[str, object]


@dataclass(frozen=True)
class Section:
    """``empty`` is set when there is no data: what to collect, in one sentence.

    ``sql`` is the source of ``figures``; charts and tables have their own.
    """

    name: str
    title: str
    explanation: str
    figures: tuple[Figure, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    empty: str = ""
    sql: str = ""
    verdict: Verdict | None = None


def fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> pl.DataFrame:
    frame: pl.DataFrame = connection.sql(sql).pl()
    return frame


def table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    source: Source,
    caption: str,
    bars: Mapping[str, str] | None = None,
    limit: int | None = ROWS_SHOWN,
) -> Table | None:
    """The first rows of the source's SELECT, and how many there are; None when there are none.

    ``limit`` None shows all.
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE shown AS {source.sql}")
    counted = connection.execute("SELECT count(*) FROM shown").fetchone()
    result = connection.execute("FROM shown LIMIT ?", [limit])
    columns = tuple(column for column, *_ in result.description or ())
    rows = tuple(result.fetchall())
    if counted is None or not rows:
        return None
    return Table(name, caption, source, columns, rows, counted[0], bars or {})
