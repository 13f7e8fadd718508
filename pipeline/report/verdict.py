"""The verdict: which wall holds the run back, what it costs, what proves it, what to collect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import diagnose, units
from pipeline.diagnose import Diagnosis, Row
from pipeline.diagnosis_text import FINDINGS_SHOWN
from pipeline.history.series import into_series, runs_of
from pipeline.report.section import Finding, Section, Source, Verdict, Wall

if TYPE_CHECKING:
    import duckdb

VIEWS = (
    *diagnose.VIEWS,
    "run_circumstance",
    "run_evidence",
    "run_summary",
    "collective_wait",
    "clock_summary",
)

# How far the numbers can be trusted, whatever the verdict is.
TRUST_SQL = """SELECT
    s.rank_count, s.world_size, e.step_count, s.source_count, s.refused_count,
    s.incomplete_count, s.warning_count,
    (SELECT max(worst_residual_ns) FROM collective_wait) AS residual_ns,
    (SELECT min(coverage_share) FROM clock_summary WHERE is_primary) AS coverage_share
FROM run_summary AS s
LEFT JOIN run_evidence AS e USING (run_id)"""

CIRCUMSTANCE_SQL = "SELECT run_id, kind, key, value_text FROM run_circumstance ORDER BY ALL"


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    (run,) = connection.execute("SELECT run_id FROM run_scale").fetchall()[0]
    diagnosis = diagnose.diagnose(connection, run)
    return Section(
        name="verdict",
        title="Verdict",
        explanation=(
            "What each wall costs is the share of the step, or of the span where no steps are "
            "known, that would be saved if it vanished. A wall costs its limit or more. Faulty "
            "hardware comes first, because it makes every other number wrong."
        ),
        verdict=draw(diagnosis, _series(connection), _trust(connection)),
    )


def _series(connection: duckdb.DuckDBPyConnection) -> str:
    """Name of the run's series, as it alone tells; with other runs beside it, it may be wider."""
    known = runs_of(connection.execute(CIRCUMSTANCE_SQL).fetchall())
    return next((one.name for one in into_series(known.values())), "")


def _trust(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """Ranks present, steps, clocks, telemetry's coverage, and what was skipped."""
    result = connection.execute(TRUST_SQL)
    names = [name for name, *_ in result.description or ()]
    row = dict(zip(names, result.fetchall()[0], strict=True))
    told = []
    if row["rank_count"] or row["world_size"]:
        of = "" if row["world_size"] is None else f" of {units.count(row['world_size'])}"
        told.append(f"{units.count(row['rank_count'])}{of} ranks")
    if row["step_count"]:
        told.append(units.quantity("step", row["step_count"]))
    if row["residual_ns"] is not None:
        told.append(f"clocks within {units.time(row['residual_ns'])}")
    if row["coverage_share"] is not None:
        told.append(f"telemetry of {units.share(row['coverage_share'])} of the time")
    told.append(units.quantity("file", row["source_count"]))
    for column, words in (("refused_count", "refused"), ("incomplete_count", "not whole")):
        if row[column]:
            told.append(f"{units.count(row[column])} {words}")
    if row["warning_count"]:
        told.append(units.quantity("warning", row["warning_count"]))
    return tuple(told)


def draw(diagnosis: Diagnosis, series: str, trust: tuple[str, ...] = ()) -> Verdict:
    first = diagnosis.walls[0] if diagnosis.walls else None
    return Verdict(
        kind=diagnosis.kind,
        sentence=diagnosis.verdict,
        confidence=diagnosis.confidence,
        trust=trust,
        doubts=diagnose.reservations(diagnosis),
        savings=_savings(diagnosis),
        walls=tuple(_wall(wall) for wall in diagnosis.all_walls),
        findings=tuple(_finding(one) for one in diagnosis.findings[:FINDINGS_SHOWN]),
        finding_count=len(diagnosis.findings),
        needs=tuple((need, *told) for need, told in diagnose.needs(diagnosis).items()),
        record={
            "kind": diagnosis.kind,
            "verdict": diagnosis.verdict,
            "confidence": diagnosis.confidence,
            "wall": first["wall"] if first else None,
            "cost_share": first["cost_share"] if first else None,
            "gpu_count": diagnosis.scale.get("gpu_count"),
            "series": series,
        },
    )


def _savings(diagnosis: Diagnosis) -> tuple[tuple[str, str], ...]:
    """Pairs of what is saved and how much."""
    saved = diagnose.savings(diagnosis)
    made = []
    if "before_ns" in saved:
        text = f"{units.time(saved['before_ns'])} → {units.time(saved['after_ns'])}"
        made.append((f"Step without {saved['wall']}", text))
    if "gpu_hours_per_day" in saved:
        made.append(
            (
                f"GPU-hours a day on {units.quantity('GPU', saved['gpu_count'])}",
                units.count(saved["gpu_hours_per_day"]),
            )
        )
    if "price_per_day" in saved:
        money = f"{units.count(saved['price_per_day'])} {saved['currency']}".rstrip()
        made.append(("Money a day", money))
    return tuple(made)


def _wall(wall: Row) -> Wall:
    share, bound = wall["cost_share"], wall["bound_share"]
    if share is not None:
        cost, note = units.share(share), f"a wall from {units.share(wall['limit_share'])} on"
    else:
        cost = "unknown"
        limit = "" if bound is None else f"at most {units.share(bound)}: "
        note = f"{limit}{units.prose(wall['reason'] or 'no reason is given')}"
    return Wall(
        name=wall["wall"],
        subject=wall["subject"] or "",
        mark="wall" if wall["is_wall"] else "open" if wall["is_open"] else "",
        share=share,
        cost=cost,
        note=note,
        source=_evidence(wall),
    )


def _finding(finding: Row) -> Finding:
    unit = finding["unit"] or ""

    def shown(value: object) -> str:
        return "" if value is None else units.quantity(unit, value)

    return Finding(
        severity=finding["severity"],
        statement=finding["statement"].rstrip("."),
        subject=finding["subject"] or "",
        detail=units.prose(finding["detail"] or ""),
        value=shown(finding["value"]),
        limit=shown(finding["threshold"]),
        cost="" if finding["cost_share"] is None else units.share(finding["cost_share"]),
        hint=finding["hint"],
        source=_evidence(finding),
    )


def _evidence(row: Row) -> Source:
    """The rows that prove it, as a SELECT."""
    condition = f"\nWHERE {row['evidence']}" if row["evidence"] else ""
    return Source(row["evidence_view"], f"FROM {row['evidence_view']}{condition}")
