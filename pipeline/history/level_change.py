"""In which ways a series may have changed: one night, a lasting step, a drift.

Each is told as a change from a baseline, with how likely noise alone shows as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.history import changes

# The newest night alone, or so many nights that agree.
_NIGHTS = (1, 2, 3)


@dataclass(frozen=True)
class Rule:
    """What a change must be to be called one; see the view regression_rule for the reasons."""

    baseline_run_count: int = 20
    least_run_count: int = 4
    least_sample_count: int = 3
    night_share: float = 0.02
    lasting_share: float = 0.005
    pair_share: float = 0.03
    noisy_share: float = 0.05
    false_discovery_share: float = 0.002
    lasting_p: float = 0.0002
    surprise_ratio: float = 3.8
    night_count: int = 30


class Point(NamedTuple):
    """One metric of one run. ``spread`` is the standard deviation inside the run, None unknown."""

    value: float
    sample_count: int = 1
    spread: float | None = None

    @property
    def error(self) -> float:
        """Standard error that the run's own samples leave; 0 where there are none."""
        return (self.spread or 0.0) / float(np.sqrt(max(1, self.sample_count)))


@dataclass(frozen=True)
class Change:
    """A difference from a baseline of ``count`` runs, from the run ``since`` on."""

    word: str
    baseline: float
    count: int
    change: float
    error: float
    freedom: int
    p_value: float
    floor_share: float
    since: int
    noise: float
    chance: float = 1.0  # p_value if noise had the tails of the normal distribution


def of_night(
    points: Sequence[Point], values: changes.Values, fitted: changes.Fit, floor: float, rule: Rule
) -> Change:
    """The newest run, or the newest few if they agree, against the last ones of their level."""
    found = [_of_newest(points, values, fitted, count, rule) for count in _NIGHTS]
    certain = [one for one in found if one is not None and one.p_value < 1.0]
    first = found[0]
    assert first is not None
    return min(certain, key=lambda one: one.p_value) if certain else first


def _of_newest(
    points: Sequence[Point], values: changes.Values, fitted: changes.Fit, count: int, rule: Rule
) -> Change | None:
    """The newest ``count`` runs against those before; None where these are too few, or where
    several runs do not agree."""
    from scipy import special

    first = len(values) - count
    # These are part of a level that began before them, which the change points tell.
    is_young = any(first - rule.least_run_count < s < first for s in fitted.starts)
    if count > 1 and is_young:
        return None
    start = _begin(fitted, first, rule)
    # A spike that the fit sees at the very end may be the first night of a new level.
    places = [i for i in range(start, first) if i not in fitted.apart]
    places = places[-rule.baseline_run_count :]
    if len(places) < (1 if count == 1 else rule.least_run_count):
        return None
    base = values[places]
    centre = float(np.mean(_clipped(base)))
    off = values[first:] - centre
    change = float(np.mean(off)) if count > 1 else float(off[0])
    nearest = float(np.min(off * np.sign(change)))
    reach = changes.ALL_BEYOND[count] if count > 1 else rule.surprise_ratio
    is_beyond = not is_young and nearest > 0.0
    is_beyond &= nearest >= reach * _farthest(values[:first], fitted, rule)
    if count > 1 and not is_beyond:
        return None
    noise = max(float(np.std(_clipped(base), ddof=1)) if len(base) > 1 else 0.0, 0.0)
    freedom = len(base) - 1
    # All runs of the history measure the noise, and so more exactly than the last few; but a
    # series that has become noisier is as noisy as it is now.
    if fitted.freedom > freedom:
        noise, freedom = _without_newest(values, fitted, count, noise, freedom)
    usual = float(np.median([points[i].error for i in places]))
    own = max(0.0, float(np.mean([p.error for p in points[-count:]])) ** 2 - usual**2)
    error = float(np.sqrt(noise**2 * (1.0 / count + 1.0 / len(base)) + own / count))
    if error == 0.0:
        p = 0.0 if change else 1.0
    else:
        p = float(2.0 * special.stdtr(max(1, freedom), -abs(change) / error))
    # A month, or as much of it as there is, has that many chances of a false alarm.
    p = 1.0 - (1.0 - p) ** min(rule.night_count, first)
    word = "one night" if count == 1 else "lasting step"
    return Change(
        *(word, centre, len(base), change, error, freedom, p if is_beyond else 1.0),
        *(rule.night_share, first, noise, p),
    )


def _begin(fitted: changes.Fit, first: int, rule: Rule) -> int:
    """Where the level begins that ends before the run ``first``."""
    begins = [0, *(start for start in fitted.starts if start < first)]
    # A level that only just began is no baseline yet.
    if first - begins[-1] < rule.least_run_count and len(begins) > 1:
        return begins[-2]
    return begins[-1]


def _farthest(before: changes.Values, fitted: changes.Fit, rule: Rule) -> float:
    """How far a run before the newest was lately from its level, spikes too: tails of real noise
    are heavier than those of the normal distribution."""
    parts = np.split(before, [start for start in fitted.starts if start < len(before)])
    off = np.concatenate([np.abs(part - np.median(part)) for part in parts])
    return float(np.max(off[-3 * rule.baseline_run_count :]))


def _without_newest(
    values: changes.Values, fitted: changes.Fit, newest: int, noise: float, freedom: int
) -> tuple[float, int]:
    """Noise around all levels before the newest runs, if it is at least that of the last ones."""
    dropped = {*fitted.apart, *range(len(values) - newest, len(values))}
    squares, count, levels = 0.0, 0, 0
    for part in np.split(np.arange(len(values)), fitted.starts):
        kept = values[[i for i in part if i not in dropped]]
        if len(kept):
            kept = _clipped(kept)
            squares += float(np.sum((kept - np.mean(kept)) ** 2))
            count, levels = count + len(kept), levels + 1
    if count <= levels:
        return noise, freedom
    whole = float(np.sqrt(squares / (count - levels)))
    return (whole, count - levels) if whole >= 0.8 * noise else (noise, freedom)


def _clipped(values: changes.Values) -> changes.Values:
    """Values no further than 4 robust standard deviations from the median."""
    centre = np.median(values)
    reach = 4.0 * changes.MAD_FACTOR * float(np.median(np.abs(values - centre)))
    return np.clip(values, centre - reach, centre + reach) if reach else values


def lasting(values: changes.Values, fitted: changes.Fit, rule: Rule) -> list[Change]:
    """The last step, as long as it is younger than a baseline is long."""
    if not fitted.starts or len(values) - fitted.starts[-1] > rule.baseline_run_count:
        return []
    start = fitted.starts[-1]
    first = fitted.starts[-2] if len(fitted.starts) > 1 else 0
    kept = [i for i in range(len(values)) if i not in fitted.apart]
    before = values[[i for i in kept if first <= i < start]][-3 * rule.baseline_run_count :]
    after = values[[i for i in kept if i >= start]]
    baseline = float(np.mean(before))
    change = float(np.mean(after)) - baseline
    error = fitted.noise * float(np.sqrt(1.0 / len(before) + 1.0 / len(after)))
    p = changes.step_p(
        abs(change), fitted.noise, fitted.freedom, len(before), len(after), len(values)
    )
    return [
        Change(
            *("lasting step", baseline, len(before), change, error, fitted.freedom, p),
            *(rule.lasting_share, start, fitted.noise),
        )
    ]


def drifting(values: changes.Values, fitted: changes.Fit, rule: Rule) -> list[Change]:
    if not fitted.is_drift:
        return []
    length = len(values)
    first = float(np.mean(values)) - fitted.slope * (length - 1) / 2.0
    change = fitted.slope * (length - 1)
    error = fitted.noise * float(np.sqrt(12.0 / length))
    p = min(1.0, fitted.drift_p * rule.night_count)
    return [
        Change(
            "drift",
            first,
            length,
            change,
            error,
            length - 2,
            p,
            rule.lasting_share,
            0,
            fitted.noise,
        )
    ]


def least_change(change: Change, floor: float) -> float:
    """The least difference of its kind that matters."""
    return max(floor, change.floor_share * abs(change.baseline))
