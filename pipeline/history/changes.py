"""Where the level of a series of numbers changes: spikes, steps, drift, two modes.

Pure arithmetic on values in the order of time. The search for steps is PELT on squared error
(ruptures' C implementation); what it proposes is believed only if a t test between the two
neighbouring levels, corrected for having searched every place, agrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

# Of normal noise, standard deviation / median absolute deviation.
MAD_FACTOR = 1.4826
# A level needs this many nights: one alone is a spike, at the end of a history an edge.
LEAST_SEGMENT = 2
# Times the logarithm of the length: twice the information criterion's 2 log n for a place and a
# level, for noise has heavier tails than the normal distribution.
_PENALTY = 4.0
# Beyond this many standard deviations of noise from both neighbours a value is a spike.
_SPIKE = 4.0
# So many values in a row are no chance if all lie this many times as far off as any other
# value does: of noise with a tail that falls with the fourth power (Student's t with 4 degrees
# of freedom), they do so less than once in 200 months.
ALL_BEYOND = {2: 1.45, 3: 1.1, 4: 0.95}
# Of a longer level the ranks tell as well, corrected for the places searched.
_RANK_P = 0.02
# The search takes the square of the length: a longer history is searched in parts.
_SEARCHED = 400
# Fewer runs than this show no drift that noise could not.
_DRIFT_RUNS = 15
# Two clusters this many of their own standard deviations apart are two modes; the halves of
# normal noise lie 2.7 apart, of 20 values of it hardly ever more than 6.
_MODES_APART = 8.0


@dataclass(frozen=True)
class Fit:
    """A series taken apart: where its level changes, what is a spike, how it spreads."""

    starts: tuple[int, ...]  # first index of every level after the first
    spikes: tuple[int, ...]  # single runs that came back
    apart: tuple[int, ...]  # these, cold first runs, and a last run far from its level
    noise: float  # standard deviation between runs of one level
    freedom: int  # degrees of freedom of that estimate
    is_drift: bool = False
    slope: float = 0.0  # per run; of a drift
    drift_p: float = 1.0


@dataclass(frozen=True)
class Modes:
    """Two levels between which the runs of a series alternate."""

    low: float
    high: float
    noise: float


def rough_noise(values: Values) -> float:
    """Standard deviation of noise from differences of neighbours, which steps hardly touch."""
    if len(values) < 3:
        return 0.0
    differences = np.diff(values)
    deviations = np.abs(differences - np.median(differences))
    return float(np.median(deviations)) * MAD_FACTOR / float(np.sqrt(2.0))


def spikes(values: Values, noise: float) -> tuple[int, ...]:
    """Single values far from both neighbours' level, to which the series comes back."""
    count = len(values)
    if count < 5:
        return ()
    # Seven neighbours, the value itself among them, do not move their median by one spike.
    padded = np.pad(values, 3, mode="reflect")
    level = np.median(np.lib.stride_tricks.sliding_window_view(padded, 7), axis=1)
    own = values - level
    beside = np.maximum(
        np.abs(np.append(values[1], values[:-1]) - level),
        np.abs(np.append(values[1:], values[-2]) - level),
    )
    is_spike = (np.abs(own) > _SPIKE * noise) & (own != 0.0) & (beside < 0.5 * np.abs(own))
    # Where every fifth value is one, they are how the series is.
    if np.count_nonzero(is_spike) > max(2, count // 5):
        return ()
    return tuple(int(place) for place in np.flatnonzero(is_spike))


def fit(values: Values, floor: float, alpha: float) -> Fit:
    """Takes a series apart. Levels that differ by less than ``floor`` are one; ``alpha`` is how
    often a step may be found where there is none."""
    count = len(values)
    apart = spikes(values, rough_noise(values))
    kept = np.delete(np.arange(count), apart)
    places = _confirmed(values[kept], _proposed(values[kept]), floor, alpha)
    # A first level of a few runs is a cold start: caches, an image that is pulled, a first try.
    if places and kept[places[0]] < LEAST_SEGMENT + 1 and len(kept) >= 3 * (LEAST_SEGMENT + 1):
        apart = (*(int(place) for place in kept[: places[0]]), *apart)
        kept, places = kept[places[0] :], [place - places[0] for place in places[1:]]
    smooth = values[kept]
    noise, freedom = _noise_of_levels(smooth, places)
    slope, drift_p = _drift(smooth, places)
    if slope:
        noise, freedom = _noise_of_line(smooth), len(smooth) - 2
    starts = () if slope else tuple(int(kept[place]) for place in places)
    inner = tuple(place for place in apart if kept[0] < place < count - 1)
    return Fit(starts, inner, tuple(sorted(apart)), noise, freedom, bool(slope), slope, drift_p)


def _proposed(values: Values) -> list[int]:
    if len(values) < 2 * LEAST_SEGMENT or not np.any(values != values[0]):
        return []
    import ruptures

    scale = rough_noise(values) or float(np.std(values))
    signal = ((values - np.median(values)) / scale)[:, None]
    penalty = _PENALTY * np.log(len(values))
    places: list[int] = []
    begin = 0
    for part in np.array_split(signal, -(-len(signal) // _SEARCHED)):
        search = ruptures.KernelCPD(kernel="linear", min_size=LEAST_SEGMENT).fit(part)
        # Where two parts meet may be a step too; what is none is not confirmed.
        places += [begin + int(end) for end in search.predict(pen=penalty)]
        begin += len(part)
    return places[:-1]


def _confirmed(values: Values, places: list[int], floor: float, alpha: float) -> list[int]:
    """The proposed places less those that no test confirms, the weakest first."""
    places = list(places)
    while places:
        noise, freedom = _noise_of_levels(values, places)
        bounds = [0, *places, len(values)]
        weakest, worst = 0, -1.0
        for number, place in enumerate(places):
            left, right = values[bounds[number] : place], values[place : bounds[number + 2]]
            change = abs(float(np.mean(right) - np.mean(left)))
            p = step_p(change, noise, freedom, len(left), len(right), len(values))
            doubt = p / alpha if change >= floor and _stands_out(left, right) else np.inf
            if doubt > worst:
                weakest, worst = number, doubt
        if worst <= 1.0:
            return places
        del places[weakest]
    return []


def _stands_out(left: Values, right: Values) -> bool:
    """Whether two levels differ however heavy the tails of noise are, as far as ranks tell: a t
    test believes the normal distribution's."""
    short, long = sorted((left, right), key=len)
    centre = np.median(long)
    ratio = ALL_BEYOND.get(len(short), min(ALL_BEYOND.values()))
    reach = ratio * float(np.max(np.abs(long - centre)))
    if np.all(short > centre + reach) or np.all(short < centre - reach):
        return True
    if len(short) in ALL_BEYOND:
        return False
    return _rank_p(left, right) * (len(left) + len(right)) <= _RANK_P


def _rank_p(left: Values, right: Values) -> float:
    """Mann and Whitney's test, by the normal approximation, which is on the safe side here."""
    from scipy import special

    one, two = len(left), len(right)
    ordered = np.sort(right)
    below = np.searchsorted(ordered, left, "left") + np.searchsorted(ordered, left, "right")
    off = abs(float(np.sum(below)) / 2.0 - one * two / 2.0)
    scale = float(np.sqrt(one * two * (one + two + 1) / 12.0))
    return float(2.0 * special.ndtr(-max(0.0, off - 0.5) / scale))


def step_p(
    change: float, noise: float, freedom: int, before: int, after: int, searched: int
) -> float:
    """How likely noise alone shows such a step at any of ``searched`` places."""
    from scipy import special

    if change == 0.0:
        return 1.0
    if noise == 0.0:
        return 0.0
    t = change / (noise * np.sqrt(1.0 / before + 1.0 / after))
    return min(1.0, float(2.0 * special.stdtr(max(1, freedom), -t)) * searched)


def _noise_of_levels(values: Values, places: list[int]) -> tuple[float, int]:
    """Standard deviation around the levels, and its degrees of freedom."""
    parts = np.split(values, places)
    squares = sum(float(np.sum((part - np.mean(part)) ** 2)) for part in parts if len(part))
    freedom = len(values) - len(parts)
    return (float(np.sqrt(squares / freedom)) if freedom > 0 else 0.0), max(0, freedom)


def _noise_of_line(values: Values) -> float:
    """Standard deviation around the line through a drifting series."""
    places = np.arange(len(values))
    left = values - np.polyval(np.polyfit(places, values, 1), places)
    return float(np.sqrt(np.sum(left**2) / (len(values) - 2)))


def _drift(values: Values, places: list[int]) -> tuple[float, float]:
    """Slope of a line that tells the series better than its steps do, and how likely it is noise;
    0 where steps or a constant tell it better."""
    count = len(values)
    if count < _DRIFT_RUNS or not np.any(values != values[0]):
        return 0.0, 1.0
    nights = np.arange(count)
    slope, intercept = (float(one) for one in np.polyfit(nights, values, 1))
    left = values - (intercept + slope * nights)
    by_line = float(np.sum(left**2))
    by_steps = sum(float(np.sum((part - np.mean(part)) ** 2)) for part in np.split(values, places))
    # Information criterion: two parameters for the line; a level and a place for each step.
    tiny = np.finfo(float).tiny
    line_score = count * np.log(max(by_line, tiny)) + 2 * np.log(count)
    step_score = count * np.log(max(by_steps, tiny)) + (1 + 2 * len(places)) * np.log(count)
    # A short ramp between two levels is not a drift that goes on: its last third must rise too.
    last = values[-max(5, count // 3) :]
    still = float(np.polyfit(np.arange(len(last)), last, 1)[0])
    if line_score + 4.0 > step_score or still * slope <= 0:
        return 0.0, 1.0
    from scipy import stats

    # Ranks: a few far values at one end are no drift.
    found = stats.linregress(nights, values).pvalue
    return slope, max(float(found), float(stats.kendalltau(nights, values).pvalue))


def modes(values: Values) -> Modes | None:
    """The two modes between which a series goes to and fro; None when there is one."""
    count = len(values)
    if count < 8:
        return None
    ordered = np.sort(values)
    cut = int(np.argmax(np.diff(ordered)[1:-1])) + 2
    low, high = ordered[:cut], ordered[cut:]
    if min(len(low), len(high)) < max(2, count // 5):
        return None
    within = float(np.sqrt((np.var(low) + np.var(high)) / 2.0))
    if np.mean(high) - np.mean(low) < _MODES_APART * within:
        return None
    is_high = values >= high[0]
    # A step changes over once, and back once; modes come and go.
    if np.count_nonzero(np.diff(is_high)) < max(4, count // 5):
        return None
    return Modes(float(np.mean(low)), float(np.mean(high)), within)
