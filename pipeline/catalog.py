"""Finds schemas/ and queries/ and reads their headers: what is kept and what can be asked.

A table is one ``CREATE TABLE`` in ``schemas/``; a view is one ``SELECT`` in ``queries/``
whose header comment is its only metadata. Both folders lie beside the package in a
checkout and inside it in a wheel.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# In this order: a view may read only from its own layer and those before it.
LAYERS = ("staging", "timeline", "metrics", "findings")

# What every view of the findings layer gives; the view ``finding`` is all of them, one below
# the other.
FINDING_COLUMNS = (
    "run_id",
    "severity",
    "wall",
    "subject",
    "detail",
    "value",
    "threshold",
    "unit",
    "cost_share",
    "evidence_view",
    "evidence",
)

# What these mean depends on the finding.
_OF_EVERY_FINDING = {
    "subject": "Rank, device, host, link or log that it is about; NULL for the whole job.",
    "detail": "What else there is to say; see the finding's own view.",
    "value": "How bad it is; see the finding's own view.",
}

# Every table has these two; in the store they are part of the path, not of the Parquet file.
PARTITION_KEYS = ("run_id", "source_id")


@dataclass(frozen=True)
class Column:
    name: str
    doc: str
    type: str = ""
    is_required: bool = False


@dataclass(frozen=True)
class Table:
    """A stored table: ``schemas/<name>.sql``."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    ddl: str


@dataclass(frozen=True)
class Query:
    """A view: ``queries/<layer>/<name>.sql``. ``better`` is ``higher``, ``lower`` or empty.

    ``values``, ``keys`` and ``samples`` say how runs are compared by it: which columns, with a
    direction of their own if it differs; which columns tell rows of a run apart; which column
    counts what a row rests on; ``where``, which rows have a direction. Where the header leaves
    them out, see ``run_metrics``.
    """

    name: str
    layer: str
    doc: str
    grain: str
    better: str
    hint: str
    columns: tuple[Column, ...]
    sql: str
    values: str = ""
    keys: str | None = None
    samples: str = ""
    where: str = ""


@cache
def root(folder: str) -> Path:
    """The folder ``schemas`` or ``queries``, in a wheel or in a checkout."""
    here = Path(__file__).resolve().parent
    for candidate in (here / folder, here.parent / folder):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the installation lacks its {folder}/ folder beside {here}")


@cache
def tables() -> dict[str, Table]:
    """Every stored table by name."""
    return {path.stem: _table(path) for path in sorted(root("schemas").glob("*.sql"))}


@cache
def queries() -> dict[str, Query]:
    """Every view by name, in an order in which each can be created."""
    found = [
        _query(path, layer)
        for layer in LAYERS
        for path in sorted((root("queries") / layer).glob("*.sql"))
    ]
    ordered = {query.name: query for query in _in_order(found)}
    findings = [query for query in ordered.values() if query.layer == "findings"]
    return ordered | {"finding": _every_finding(findings)}


@cache
def reference() -> dict[str, Path]:
    """Reference tables: name -> CSV file."""
    return {path.stem: path for path in sorted((root("queries") / "reference").glob("*.csv"))}


@cache
def macros() -> tuple[str, ...]:
    """The ``CREATE MACRO`` statements of queries/macros."""
    folder = root("queries") / "macros"
    return tuple(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.sql")))


@cache
def arrow_schemas() -> dict[str, pa.Schema]:
    """The Arrow schema of each stored table, without the two partition keys."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    schemas = {}
    for table in tables().values():
        connection.execute(table.ddl)
        empty = connection.sql(f"FROM {table.name} LIMIT 0").to_arrow_table()
        schemas[table.name] = pa.schema([f for f in empty.schema if f.name not in PARTITION_KEYS])
    return schemas


@cache
def required_columns(table: str) -> tuple[str, ...]:
    """Columns that must not be NULL, without the two partition keys."""
    columns = tables()[table].columns
    return tuple(c.name for c in columns if c.is_required and c.name not in PARTITION_KEYS)


def _table(path: Path) -> Table:
    ddl = path.read_text(encoding="utf-8")
    columns: list[Column] = []
    comment: list[str] = []
    for line in ddl.splitlines():
        if line.startswith("    -- "):
            comment.append(line.removeprefix("    -- ").strip())
        elif entry := re.match(r"    (\w+) (\w+)( NOT NULL)?", line):
            columns.append(Column(entry[1], " ".join(comment), entry[2], bool(entry[3])))
            comment = []
    return Table(path.stem, " ".join(_comment_lines(ddl)), tuple(columns), ddl)


def _every_finding(findings: list[Query]) -> Query:
    """The view ``finding``: a finding is one file, and nothing else lists it."""
    rows = "\n    UNION ALL\n".join(
        f"    SELECT '{one.name}' AS finding, {_literal(one.doc)} AS statement,\n"
        f"        {_literal(one.hint)} AS hint, {', '.join(FINDING_COLUMNS)}\n"
        f"    FROM {one.name}"
        for one in findings
    )
    sql = f"""WITH found AS (
{rows}
)
SELECT
    f.run_id, f.finding, {", ".join("f." + name for name in FINDING_COLUMNS[1:])},
    f.cost_share * s.gpu_hours AS gpu_hours,
    gpu_hours_per_day_of(f.cost_share, s.gpu_count) AS gpu_hours_per_day,
    gpu_hours_per_day_of(f.cost_share, s.gpu_count) * s.price_per_gpu_hour AS price_per_day,
    f.statement, f.hint
FROM found AS f
LEFT JOIN run_scale AS s USING (run_id)
ORDER BY
    f.run_id,
    list_position(['fault', 'wall', 'warning', 'info'], f.severity),
    f.cost_share DESC NULLS LAST,
    f.finding,
    f.subject,
    f.evidence
"""
    columns = [
        Column("run_id", "Run."),
        Column("finding", "View of the findings layer that says so."),
        *(
            Column(column.name, _OF_EVERY_FINDING.get(column.name, column.doc))
            for column in findings[0].columns
            if column.name in FINDING_COLUMNS[1:]
        ),
        Column("gpu_hours", "GPU-hours that it cost while the job was observed."),
        Column("gpu_hours_per_day", "GPU-hours that it costs each day that the job runs."),
        Column("price_per_day", "The same in money; NULL without a price in run.toml."),
        Column("statement", "What it means."),
        Column("hint", "What to do next, and under which condition."),
    ]
    return Query(
        name="finding",
        layer="findings",
        doc="Everything that is wrong with a run, or worth knowing; the gravest first.",
        grain="one row per (run_id, finding, subject, evidence)",
        better="",
        hint="Ask the view in evidence_view for the rows that evidence names.",
        columns=tuple(columns),
        sql=sql,
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _comment_lines(sql: str) -> list[str]:
    lines = []
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line[2:].removeprefix(" ").rstrip())
    return lines


def _query(path: Path, layer: str) -> Query:
    sql = path.read_text(encoding="utf-8")
    lines = _comment_lines(sql)
    blank = lines.index("") if "" in lines else len(lines)
    head, listing = lines[:blank], lines[blank + 1 :]
    tags = dict.fromkeys(("Grain", "Better", "Value", "Key", "Samples", "Where", "Hint"), "")
    prose: list[str] = []
    current = ""
    for line in head:
        tag, colon, rest = line.partition(": ")
        if colon and tag in tags:
            current = tag
            tags[tag] = rest
        elif current:
            tags[current] += " " + line.strip()
        else:
            prose.append(line)
    return Query(
        name=path.stem,
        layer=layer,
        doc=" ".join(prose),
        grain=tags["Grain"].rstrip("."),
        better=tags["Better"].rstrip("."),
        hint=tags["Hint"],
        columns=_listed_columns(listing),
        sql=sql,
        values=tags["Value"].rstrip("."),
        keys=tags["Key"].rstrip(".") or None,
        samples=tags["Samples"].rstrip("."),
        where=tags["Where"].rstrip("."),
    )


def _listed_columns(lines: Iterable[str]) -> tuple[Column, ...]:
    columns: list[Column] = []
    for line in lines:
        entry = re.match(r"(\w+)\s{2,}(\S.*)", line)
        if entry:
            columns.append(Column(entry[1], entry[2]))
        elif line.strip() and columns:  # the text goes on
            last = columns.pop()
            columns.append(Column(last.name, f"{last.doc} {line.strip()}"))
    return tuple(columns)


def _in_order(found: list[Query]) -> list[Query]:
    """Layer by layer; inside a layer, a view after those of its own layer that it reads."""
    ordered: list[Query] = []
    waiting = list(found)
    while waiting:
        names = {query.name for query in waiting}
        free = [q for q in waiting if not (_read(q.sql) & (names - {q.name}))]
        if not free:
            raise ValueError(f"views read each other in a circle: {sorted(names)}")
        ordered += free
        waiting = [q for q in waiting if q not in free]
    return ordered


def named_in(sql: str) -> list[str]:
    """The tables, reference tables and views that a statement names, as often as it does."""
    known = reached(None)
    return [word for word in re.findall(r"\w+", sql.lower()) if word in known]


def reached(names: Iterable[str] | None) -> set[str]:
    """The tables, reference tables and views named, everything that these read, at whatever
    depth, and what the macros read. All there are, if ``names`` is None."""
    if names is None:
        return {*tables(), *reference(), *queries()}
    found: set[str] = set()
    waiting = [*names, *(name for macro in macros() for name in _mentions(macro))]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            query = queries().get(name)
            waiting += _mentions(query.sql) if query else ()
    return found


def used_repeatedly(names: Iterable[str], at_hand: Collection[str] = ()) -> set[str]:
    """Views above the staging layer that the views ``names`` come to more than once, on whatever
    way: DuckDB computes a view anew at each mention. What is staged streams through. Views
    ``at_hand`` are tables already."""
    mentions: dict[str, int] = {}

    def visit(name: str) -> None:
        query = queries().get(name)
        if query is None or name in at_hand:
            return
        mentions[name] = mentions.get(name, 0) + 1
        # Below a view that is kept, the second mention costs nothing.
        if mentions[name] == 1 or query.layer == "staging":
            for other in _mentions(query.sql):
                visit(other)

    for name in names:
        visit(name)
    return {name for name, n in mentions.items() if n > 1 and queries()[name].layer != "staging"}


def _read(sql: str) -> set[str]:
    """The names that a query reads from, its own subqueries among them."""
    return set(_mentions(sql))


def _mentions(sql: str) -> list[str]:
    code = re.sub(r"--.*|'[^']*'", "", sql)
    return re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", code)
