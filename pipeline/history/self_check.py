"""Does the detector cry wolf, and in both directions alike? History itself tells.

Nights of one level in another order are A/A data: whatever is called in them is a false alarm.
A step put into them must be found, and upside down the verdicts must be the opposite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pipeline.history import changes
from pipeline.history.compare import Better, Point, Rule, judge, settle
from pipeline.history.judged import Night

# More numbers than this tell no more of the detector, and take minutes.
_MOST = 60
_SHUFFLES = 2


@dataclass(frozen=True)
class SelfCheck:
    """What the detector says of histories whose truth is known."""

    series_months: float
    false_regressed: int
    false_improved: int
    steps: int
    steps_up_found: int
    steps_down_found: int

    @property
    def rate(self) -> float | None:
        """False alarms per series and month; None without enough history."""
        alarms = self.false_regressed + self.false_improved
        return alarms / self.series_months if self.series_months else None

    @property
    def faults(self) -> list[str]:
        """What is wrong with the detector on these histories; empty when nothing is."""
        found = []
        if self.rate is not None and self.rate > 0.01 and self.alarms_are_many:
            found.append(f"{self.rate:.1%} false alarms per series and month, 1 % is allowed")
        up, down = self.steps_up_found, self.steps_down_found
        if self.steps and min(up, down) < 0.5 * max(up, down):
            found.append(f"finds one direction only: {up} steps up, {down} down")
        return found

    @property
    def alarms_are_many(self) -> bool:
        """One alarm in a short history is chance."""
        return self.false_regressed + self.false_improved > 1 + 0.02 * self.series_months


def self_check(night: Night, floors: Mapping[str, float]) -> SelfCheck:
    """Checks the rule of a night on that night's own histories."""
    histories = [
        (t.history, t.about, floors.get(t.about.unit or "", 0.0))
        for one in night.judged
        for t in sorted(one.told, key=lambda t: (not t.is_headline, t.name))
        if len(t.history) >= 3 * night.rule.least_run_count
    ][:_MOST]
    nights = worse = better = steps = up = down = 0
    for number, (history, about, floor) in enumerate(histories):
        values = np.array([value for _, value in history])
        fitted = changes.fit(values, floor, night.rule.lasting_p)
        level = values - _levels(values, fitted) + np.median(values)
        side: Better = "higher" if about.better == "higher" else "lower"
        for shuffle in range(_SHUFFLES):
            mixed = np.random.default_rng([number, shuffle]).permutation(level)
            first = max(night.rule.least_run_count, len(mixed) // 2)
            calls = [
                _call(mixed[: k + 1], side, floor, night.rule) for k in range(first, len(mixed))
            ]
            nights += len(calls)
            worse += "regressed" in calls
            better += "improved" in calls
        size = max(8.0 * fitted.noise, 0.1 * abs(float(np.median(level))), 4.0 * floor)
        steps += 1
        up += _call([*level, np.median(level) + size], "lower", floor, night.rule) == "regressed"
        down += _call([*level, np.median(level) - size], "lower", floor, night.rule) == "improved"
    return SelfCheck(nights / night.rule.night_count, worse, better, steps, up, down)


def _levels(values: changes.Values, fitted: changes.Fit) -> changes.Values:
    if fitted.is_drift:
        return np.asarray(fitted.slope * np.arange(len(values)))
    parts = np.split(values, fitted.starts)
    return np.concatenate([np.full(len(part), np.median(part)) for part in parts])


def _call(values: object, better: Better, floor: float, rule: Rule) -> str:
    points = [Point(float(value)) for value in values]  # type: ignore[attr-defined]
    return settle([judge(points, better, floor, rule)], rule)[0].verdict
