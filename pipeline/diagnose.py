"""Findings to a verdict: which wall holds the job back, what it costs, how sure that is, and why.

Nothing is measured here. The views ``wall`` and ``finding`` say what every wall costs and what is
wrong; this module decides in which order that counts and puts it into words. Change the rows and
the verdict changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import duckdb

# What a diagnosis asks; they share intermediate results.
VIEWS = ("wall", "finding", "run_scale", "run_trust")

Kind = Literal["fault", "wall", "cannot tell", "no wall found"]
Row = Mapping[str, Any]

# A wall of this rank outranks a dearer one of a lower: a throttled GPU or a faulty link makes
# every other number wrong, and a job without memory cannot be tuned at all.
_FIRST = ("interconnect", "power", "memory capacity")


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on one run, and the rows it rests on.

    ``walls`` are those found, the decisive one first; ``missing`` the walls that could hide
    behind what was not collected. ``doubts`` say what keeps the verdict from being sure.
    """

    run: str
    kind: Kind
    verdict: str
    walls: tuple[Row, ...]
    all_walls: tuple[Row, ...]
    missing: tuple[Row, ...]
    doubts: tuple[str, ...]
    findings: tuple[Row, ...]
    scale: Row

    @property
    def confidence(self) -> str:
        if self.kind == "cannot tell":
            return "none"
        return "likely" if self.doubts or self.missing else "sure"


def diagnose(connection: duckdb.DuckDBPyConnection, run: str) -> Diagnosis:
    """The diagnosis of a run of the store that the connection is opened for."""

    def rows(view: str, order: str) -> tuple[Row, ...]:
        result = connection.execute(f"FROM {view} WHERE run_id = ? ORDER BY {order}", [run])
        names = [name for name, *_ in result.description or ()]
        return tuple(dict(zip(names, row, strict=True)) for row in result.fetchall())

    walls = rows("wall", "cost_share DESC NULLS LAST, bound_share DESC NULLS LAST, wall")
    order = "list_position(['fault', 'wall', 'warning', 'info'], severity)"
    findings = rows("finding", f"{order}, cost_share DESC NULLS LAST, finding, subject, evidence")
    scale = rows("run_scale", "run_id")
    doubts = tuple(row["doubt"] for row in rows("run_trust", "doubt"))
    return judge(run, walls, findings, scale[0] if scale else {}, doubts)


def judge(
    run: str,
    walls: Sequence[Row],
    findings: Sequence[Row],
    scale: Row,
    doubts: Sequence[str],
) -> Diagnosis:
    """The verdict that these rows of ``wall`` and ``finding`` lead to."""
    found = sorted(
        (wall for wall in walls if wall["is_wall"]),
        key=lambda wall: (wall["wall"] not in _FIRST, -(wall["cost_share"] or 0.0), wall["wall"]),
    )
    missing = tuple(wall for wall in walls if wall["is_open"])
    faults = [finding for finding in findings if finding["severity"] == "fault"]
    kind: Kind
    if faults:
        kind, verdict = "fault", _of_fault(faults, found)
    elif found:
        kind, verdict = "wall", _of_walls(found)
    elif missing:
        kind, verdict = "cannot tell", _of_missing(missing)
    else:
        kind, verdict = "no wall found", _of_nothing(walls)
    return Diagnosis(
        run=run,
        kind=kind,
        verdict=verdict,
        walls=tuple(found),
        all_walls=tuple(walls),
        missing=missing,
        doubts=tuple(doubts),
        findings=tuple(findings),
        scale=scale,
    )


def _of_fault(faults: Sequence[Row], found: Sequence[Row]) -> str:
    first = faults[0]
    text = f"faulty hardware: {_lowered(first['statement'])}"
    text += f" ({first['subject']})" if first["subject"] else ""
    if len(faults) > 1:
        text += f", and {len(faults) - 1} more"
    return f"{text}; {_of_walls(found)}" if found else text


def _of_walls(found: Sequence[Row]) -> str:
    first, *others = found
    text = _costing(first)
    return f"{text}; then {', '.join(map(_costing, others))}" if others else text


def _costing(wall: Row) -> str:
    from pipeline import units

    text = f"{wall['wall']}"
    text += f" ({wall['subject']})" if wall["subject"] else ""
    if wall["cost_share"] is None:
        bound = wall["bound_share"]
        limit = "" if bound is None else f", at most {units.share(bound)} of the {wall['basis']}"
        return f"{text} at a cost that is not known{limit}"
    verb = "cost" if wall["wall"].endswith("s") and not wall["subject"] else "costs"
    return f"{text} {verb} {units.share(wall['cost_share'])} of the {wall['basis']}"


def _of_missing(missing: Sequence[Row]) -> str:
    return "cannot tell: " + "; ".join(_unknown(missing))


def _unknown(missing: Sequence[Row]) -> list[str]:
    """Each reason once, with the walls that it leaves open."""
    from pipeline import units

    by_reason: dict[str, list[str]] = {}
    for wall in missing:
        reason = units.prose(wall["reason"] or "not known")
        by_reason.setdefault(reason, []).append(wall["wall"])
    return [f"{reason} ({', '.join(walls)})" for reason, walls in by_reason.items()]


def _of_nothing(walls: Sequence[Row]) -> str:
    from pipeline import units

    dearest = next((wall for wall in walls if wall["cost_share"]), None)
    if dearest is None:
        return "no wall found"
    share = units.share(dearest["cost_share"])
    return (
        f"no wall found; the largest cost is {dearest['wall']}, {share} of the {dearest['basis']}"
    )


def _lowered(statement: str) -> str:
    """A sentence within another; GPUs stay GPUs."""
    first = statement.partition(" ")[0]
    head = statement[:1] if any(map(str.isupper, first[1:])) else statement[:1].lower()
    return head + statement[1:].rstrip(".")


def as_record(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis for machines: plain values in base units."""
    return {
        "run_id": diagnosis.run,
        "kind": diagnosis.kind,
        "verdict": diagnosis.verdict,
        "confidence": diagnosis.confidence,
        "doubts": list(diagnosis.doubts),
        "walls": [dict(wall) for wall in diagnosis.walls],
        "missing": [dict(wall) for wall in diagnosis.missing],
        "all_walls": [dict(wall) for wall in diagnosis.all_walls],
        "findings": [dict(finding) for finding in diagnosis.findings],
        "scale": dict(diagnosis.scale),
    }


def reservations(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Why the verdict is not sure: doubts about what there is, and what is missing."""
    reasons = list(diagnosis.doubts)
    if diagnosis.kind != "cannot tell":  # else the verdict says so
        reasons += _unknown(diagnosis.missing)
    return tuple(reasons)


def needs(diagnosis: Diagnosis) -> dict[str, tuple[str, str]]:
    """What to collect to know more: the command, and where to run it."""
    return {
        wall["need"]: (wall["collect"], wall["collect_remark"])
        for wall in diagnosis.missing
        if wall["need"]
    }


def savings(diagnosis: Diagnosis) -> dict[str, Any]:
    """What the first wall's removal saves; a key is left out where it is not known."""
    first = diagnosis.walls[0] if diagnosis.walls else None
    if first is None or not first["cost_share"]:
        return {}
    found: dict[str, Any] = {"wall": first["wall"]}
    told = ("before_ns", "after_ns", "gpu_count", "gpu_hours_per_day", "price_per_day")
    found |= {name: first[name] for name in told if first[name] is not None}
    if "price_per_day" in found:
        found["currency"] = first["currency"] or ""
    return found
