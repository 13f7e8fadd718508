"""Is the newest run slower than before? Pure statistics: numbers in, verdict out.

A run is one observation, however many steps it has: steps of one run share whatever made that
run fast or slow. Noise is what was measured between runs of the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pipeline.history import changes
from pipeline.history.level_change import (
    Change,
    Point,
    Rule,
    drifting,
    lasting,
    least_change,
    of_night,
)

Verdict = Literal[
    "regressed",
    "improved",
    "unchanged",
    "inconclusive",
    "not comparable",
    "no baseline",
    "missing",
]
VERDICTS: tuple[Verdict, ...] = (
    *("regressed", "improved", "unchanged", "inconclusive"),
    *("not comparable", "no baseline", "missing"),
)
Better = Literal["lower", "higher"]
# From so many runs on, the noise they show is as good as known.
_LONG = 10
# Times the noise: what is called no change reaches this far once in some hundred runs.
_LARGE = 3.0

__all__ = [
    "Better",
    "Judgement",
    "Point",
    "Rule",
    "Verdict",
    "compare_two",
    "judge",
    "rejected",
    "settle",
]


@dataclass(frozen=True)
class Judgement:
    """What is known of the newest value of one series.

    ``word`` says what kind of change or doubt it is. ``since`` is the index of the first run of
    the new level. ``change_share`` is None where the baseline is 0. ``p_value`` is how likely
    noise alone shows as much within a month of nights.
    """

    verdict: Verdict
    word: str = ""
    reason: str = ""
    value: float | None = None
    baseline: float | None = None
    baseline_count: int = 0
    noise: float | None = None
    change: float | None = None
    change_share: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    since: int | None = None
    starts: tuple[int, ...] = ()
    spikes: tuple[int, ...] = ()


def judge(points: Sequence[Point], better: Better, floor: float, rule: Rule) -> Judgement:
    """Judges the last of ``points``, which are comparable runs in the order of time.

    ``floor`` is the least change that matters, in the metric's unit. The verdict is the one that
    holds if this series is the only one; :func:`settle` corrects for many.
    """
    if not points:
        return Judgement("missing", reason="no run has it")
    newest = points[-1]
    earlier = len(points) - 1
    if earlier < rule.least_run_count:
        word = "too short" if earlier else ""
        reason = f"{earlier} earlier runs, {rule.least_run_count} needed"
        return Judgement("no baseline", word, reason, newest.value, baseline_count=earlier)
    values = np.array([point.value for point in points], dtype=float)
    level = float(np.median(np.abs(values)))
    lasting_floor = max(floor, rule.lasting_share * level)
    fitted = changes.fit(values, lasting_floor, rule.lasting_p)
    two = changes.modes(values[:-1][-2 * rule.baseline_run_count :])
    if two and two.high - two.low >= max(floor, rule.night_share * abs(two.low)):
        return _of_modes(points, two, better, floor, rule)
    found = [of_night(points, values, fitted, floor, rule)]
    found += lasting(values, fitted, rule) + drifting(values, fitted, rule)
    judged = replace(
        _worst(found, floor, newest, better),
        starts=fitted.starts,
        spikes=fitted.spikes,
    )
    if newest.sample_count < rule.least_sample_count <= _usual_count(points):
        reason = f"{newest.sample_count} samples, {rule.least_sample_count} needed"
        return replace(judged, verdict="inconclusive", word="too short", reason=reason)
    judged = _doubted(judged, values, fitted, floor, rule)
    if judged.verdict in ("regressed", "improved") and _is_unconfirmed(judged, found[0], rule):
        times = abs(found[0].change) / found[0].noise if found[0].noise else np.inf
        reason = f"one night {times:.1f} times the noise off: the next one tells"
        return replace(judged, verdict="inconclusive", word="unconfirmed", reason=reason)
    return judged


def _is_unconfirmed(judged: Judgement, night: Change, rule: Rule) -> bool:
    """Whether a night stands out from noise with the tails of the normal distribution only."""
    return judged.p_value == 1.0 and night.chance <= rule.false_discovery_share


def _usual_count(points: Sequence[Point]) -> int:
    return int(np.median([point.sample_count for point in points]))


def _of_modes(
    points: Sequence[Point], two: changes.Modes, better: Better, floor: float, rule: Rule
) -> Judgement:
    """A series that goes to and fro has no level: only what lies beyond both modes is news."""
    newest = points[-1]
    reach = max(4.0 * two.noise, 0.25 * (two.high - two.low))
    reason = f"runs alternate between two levels, {_apart(two)} apart"
    nearest = two.low if newest.value < two.low else two.high
    change = newest.value - nearest
    freedom = min(len(points) - 1, 2 * rule.baseline_run_count) - 2
    found = Change(
        *("beyond both modes", nearest, freedom + 2, change, max(two.noise, reach / 4.0)),
        *(freedom, 0.0, rule.night_share, len(points) - 1, two.noise),
    )
    judged = replace(_worst([found], floor, newest, better), reason=reason)
    if two.low - reach <= newest.value <= two.high + reach:
        return replace(judged, verdict="inconclusive", word="bimodal", since=None)
    return judged


def _apart(two: changes.Modes) -> str:
    apart = two.high - two.low
    return f"{apart / abs(two.low):.1%}" if two.low else f"{apart:.4g}"


def _worst(found: list[Change], floor: float, newest: Point, better: Better) -> Judgement:
    """The most certain of the changes that matter; without one, that of the night."""
    mattering = [c for c in found if c.change and abs(c.change) >= least_change(c, floor)]
    change = min(mattering, key=lambda c: c.p_value) if mattering else found[0]
    from scipy import special

    reach = float(special.stdtrit(max(1, change.freedom), 0.975)) * change.error
    share = change.change / abs(change.baseline) if change.baseline else None
    verdict: Verdict = "unchanged"
    if mattering:
        is_worse = (change.change > 0) == (better == "lower")
        verdict = "regressed" if is_worse else "improved"
    return Judgement(
        verdict,
        change.word if mattering else "",
        value=newest.value,
        baseline=change.baseline,
        baseline_count=change.count,
        change=change.change,
        change_share=share,
        interval=(change.change - reach, change.change + reach),
        noise=change.noise,
        p_value=change.p_value if mattering else 1.0,
        since=change.since if mattering else None,
    )


def _doubted(
    judged: Judgement, values: changes.Values, fitted: changes.Fit, floor: float, rule: Rule
) -> Judgement:
    """Takes a verdict back where the series shows why it would be wrong."""
    if judged.word == "one night" and judged.change is not None:
        alike = _spikes_like(judged.change, judged.baseline or 0.0, values, fitted, rule)
        if alike >= 2:
            reason = f"{alike} single nights before were as far off and came back"
            return replace(judged, verdict="inconclusive", word="single spike", reason=reason)
    base = abs(judged.baseline or 0.0)
    noise = judged.noise or 0.0
    if noise > max(rule.noisy_share * base, floor):
        spread = f"{noise / base:.1%}" if base else f"{noise:.4g}"
        reason = f"runs of one level spread by {spread} (standard deviation)"
        if judged.verdict == "unchanged":
            return replace(judged, verdict="inconclusive", word="noisy", reason=reason)
        return replace(judged, reason=reason)
    return judged


def _spikes_like(
    change: float, baseline: float, values: changes.Values, fitted: changes.Fit, rule: Rule
) -> int:
    recent = [i for i in fitted.spikes if i >= len(values) - 3 * rule.baseline_run_count]
    off = [values[i] - baseline for i in recent]
    return sum(1 for one in off if one * change > 0 and abs(one) >= 0.5 * abs(change))


# -- many series ---------------------------------------------------------------------------


def rejected(p_values: Sequence[float], share: float = 0.05) -> list[bool]:
    """Benjamini and Hochberg: which null hypotheses fall if ``share`` of these may be true."""
    order = sorted(range(len(p_values)), key=lambda i: (p_values[i], i))
    count = 0
    for rank, place in enumerate(order, 1):
        if p_values[place] <= share * rank / len(order):
            count = rank
    falls = [False] * len(order)
    for place in order[:count]:
        falls[place] = True
    return falls


def settle(judgements: Sequence[Judgement], rule: Rule) -> list[Judgement]:
    """The verdicts that hold when all series are looked at: the others are taken back."""
    tested = [i for i, j in enumerate(judgements) if j.p_value is not None]
    # A doubt about a series does not make the others' evidence weaker: it counts as no change.
    chances = [
        judgements[i].p_value or 0.0 if judgements[i].verdict in ("regressed", "improved") else 1.0
        for i in tested
    ]
    holds = dict(zip(tested, rejected(chances, rule.false_discovery_share), strict=True))
    settled = []
    for place, judged in enumerate(judgements):
        if judged.verdict in ("regressed", "improved") and not holds.get(place, False):
            judged = replace(_taken_back(judged), since=None)
        settled.append(judged)
    return settled


def _taken_back(judged: Judgement) -> Judgement:
    if judged.reason:
        return replace(judged, verdict="inconclusive", word="noisy")
    # What one more run, or a longer history, may call a change is not called unchanged.
    times = abs(judged.change or 0.0) / judged.noise if judged.noise else 0.0
    if times > _LARGE and judged.baseline_count < _LONG:
        reason = f"{judged.baseline_count} earlier runs do not measure the noise well enough"
        return replace(judged, verdict="inconclusive", word="too short", reason=reason)
    if times > _LARGE:
        reason = f"{times:.1f} times the noise off: the next runs tell"
        return replace(judged, verdict="inconclusive", word="unconfirmed", reason=reason)
    return replace(judged, verdict="unchanged", word="within noise")


# -- two runs ------------------------------------------------------------------------------


def compare_two(
    base: Point,
    run: Point,
    better: Better,
    floor: float,
    noise: float | None,
    rule: Rule,
    noise_freedom: float = np.inf,
) -> Judgement:
    """Judges ``run`` against one other run. ``noise`` is the spread between runs of the series,
    with its degrees of freedom, None where it was never measured: then only the runs' own samples
    speak."""
    from scipy import special

    change = run.value - base.value
    share = change / abs(base.value) if base.value else None
    error = float(np.sqrt(base.error**2 + run.error**2 + 2.0 * (noise or 0.0) ** 2))
    freedom = _freedom_of_two(base, run, noise or 0.0, noise_freedom)
    if error:
        p = float(2.0 * special.stdtr(freedom, -abs(change) / error))
        reach = float(special.stdtrit(freedom, 0.975)) * error
    else:
        p, reach = (0.0 if change else 1.0), 0.0
    told = Judgement(
        *("unchanged", "", ""),
        value=run.value,
        baseline=base.value,
        baseline_count=1,
        noise=noise,
        change=change,
        change_share=share,
        interval=(change - reach, change + reach),
        p_value=p,
    )
    if change == 0.0:
        return told
    if noise is not None and noise > max(rule.noisy_share * abs(base.value), floor):
        spread = f"{noise / abs(base.value):.1%}" if base.value else f"{noise:.4g}"
        reason = f"runs of the series spread by {spread} (standard deviation)"
        if abs(change) < 4.0 * noise:
            return replace(told, verdict="inconclusive", word="noisy", reason=reason)
    if abs(change) < max(floor, rule.pair_share * abs(base.value)):
        return replace(told, word="below the floor")
    few = min(base.sample_count, run.sample_count)
    if noise is None and few < rule.least_sample_count and base.value:
        reason = f"{few} samples in a run, {rule.least_sample_count} needed"
        return replace(told, verdict="inconclusive", word="too short", reason=reason)
    if p > rule.false_discovery_share:
        return replace(told, verdict="inconclusive", word="within noise")
    verdict: Verdict = "regressed" if (change > 0) == (better == "lower") else "improved"
    reason = "" if noise is not None else "noise between runs is not known"
    return replace(told, verdict=verdict, word="two runs", reason=reason)


def _freedom_of_two(base: Point, run: Point, noise: float, noise_freedom: float) -> float:
    """Welch and Satterthwaite: of both runs' samples and the noise between runs, which one sample
    a run does not make less certain."""
    parts = [(point.error**2, max(1.0, point.sample_count - 1.0)) for point in (base, run)]
    parts.append((2.0 * noise**2, noise_freedom))
    doubt = sum(variance**2 / freedom for variance, freedom in parts if variance)
    return sum(variance for variance, _ in parts) ** 2 / doubt if doubt else np.inf
