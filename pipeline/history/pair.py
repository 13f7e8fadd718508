"""Two runs side by side: every number of both, and what their steps differ in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.errors import UserError
from pipeline.history import changes, run_metrics, series
from pipeline.history.attribution import Attribution, attribute
from pipeline.history.compare import Better, Judgement, Rule, compare_two
from pipeline.history.judged import About, Told
from pipeline.history.regress import load_numbers, load_runs, names_like, rule_of
from pipeline.history.series import Run
from pipeline.history.step_change import load_parts

if TYPE_CHECKING:
    from pipeline.store import Store


# What a run of the series usually has is seen from this many.
_RECENT = 100


@dataclass(frozen=True)
class Pair:
    """Both runs, whether they may be compared at all, and their numbers."""

    base: Run
    run: Run
    verdict: str
    reason: str
    differing: Mapping[str, tuple[str, str]]
    suspects: Mapping[str, tuple[str, str]]
    told: tuple[Told, ...]
    attribution: Attribution | None

    @property
    def is_judged(self) -> bool:
        return not self.reason


def compare_runs(store: Store, base_id: str, run_id: str, thresholds: Mapping[str, float]) -> Pair:
    """Compares ``run_id`` with ``base_id``. The noise between runs is that of their series, as
    far as the store holds other runs of it."""
    rule, floors = rule_of(store, thresholds)
    run_metrics.derive(store)
    runs = load_runs(store)
    for name in (base_id, run_id):
        if name not in runs:
            raise UserError(f"run {name}", "not in the store", names_like(name, runs))
    base, run = runs[base_id], runs[run_id]
    differing = series.differences(base, run)
    verdict, reason = "", ""
    if differing:
        verdict = "not comparable"
        reason = "; ".join(f"{key} {a} -> {b}" for key, (a, b) in differing.items())
    else:
        for one, other in ((base, run), (run, base)):
            short = series.shortcoming(one, series.usual([other]))
            if short:
                verdict, reason = "inconclusive", f"{one.run_id} is incomplete: {short}"
    alike = [
        r.run_id
        for one in series.into_series(runs.values())
        if any(r.run_id == run_id for r in one.runs)
        for r in one.runs
        if not series.differences(r, run)
        and not series.shortcoming(r, series.usual(one.runs[-_RECENT:]))
    ]
    told = _told(store, base, run, alike, verdict, reason, floors, rule)
    parts = load_parts(store, [base_id, run_id])
    attribution = None
    if base_id in parts and run_id in parts and not differing:
        attribution = attribute(parts[base_id], parts[run_id])
    calls = [one.judgement.verdict for one in told]
    if not verdict:
        words = ("regressed", "improved", "unchanged", "inconclusive", "missing")
        verdict = next((word for word in words if word in calls), "inconclusive")
        reason = "" if told else "no numbers to compare"
    suspects = series.suspects(base, run)
    return Pair(base, run, verdict, reason, differing, suspects, tuple(told), attribution)


def _told(
    store: Store,
    base: Run,
    run: Run,
    alike: list[str],
    verdict: str,
    reason: str,
    floors: Mapping[str, float],
    rule: Rule,
) -> list[Told]:
    numbers = load_numbers(store)
    told = []
    for metric, points in numbers.points.items():
        about: About = numbers.about[metric]
        one, two = points.get(base.run_id), points.get(run.run_id)
        if one is None and two is None:
            continue
        if one is None or two is None:
            held = one or two
            assert held is not None
            where = base.run_id if two is None else run.run_id
            judged = Judgement(
                "missing" if two is None else "no baseline",
                reason=f"only {where} has it",
                value=two.value if two else None,
                baseline=one.value if one else None,
            )
        else:
            better: Better = "higher" if about.better == "higher" else "lower"
            values = np.array([points[r].value for r in alike if r in points], dtype=float)
            floor = floors.get(about.unit or "", 0.0)
            noise, freedom = None, np.inf
            # The two alone would measure their own difference.
            if len(values) > rule.least_run_count + 1:
                fitted = changes.fit(values, floor, rule.lasting_p)
                if fitted.freedom >= rule.least_run_count - 1:
                    noise, freedom = fitted.noise, fitted.freedom
            judged = compare_two(one, two, better, floor, noise, rule, freedom)
        if reason:
            word = "incomplete" if verdict == "inconclusive" else ""
            judged = Judgement(
                verdict,  # type: ignore[arg-type]
                word,
                value=judged.value,
                baseline=judged.baseline,
                change=judged.change,
                change_share=judged.change_share,
            )
        told.append(Told(metric, about, judged))
    return told
