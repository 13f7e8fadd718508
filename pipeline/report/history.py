"""The page of histories: each series' numbers over its runs, with steps, noise and versions.

It draws what was judged and computes nothing but where on the page a point lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline import units
from pipeline.history.judged import Judged, Night, Told
from pipeline.history.verdict_text import change_text, since_text
from pipeline.report import page as pages

WIDTH, HEIGHT, MARGIN = 720, 150, 10


@dataclass(frozen=True)
class Mark:
    """A run on the chart."""

    x: float
    y: float
    text: str
    kind: str  # run, spike or judged


@dataclass(frozen=True)
class Band:
    """The noise around one level, from its first run to its last."""

    x: float
    y: float
    width: float
    height: float
    middle: float


@dataclass(frozen=True)
class Chart:
    """One number of one series, ready to be drawn."""

    title: str
    verdict: str
    text: str
    top: str
    bottom: str
    line: str
    marks: list[Mark]
    bands: list[Band]
    steps: list[Mark]


def page(night: Night) -> str:
    """Every series with its charts: what says how fast the job is, and whatever changed."""
    shown = [
        {
            "one": one,
            "charts": [_chart(one, told) for told in _drawn(one)],
            "rows": [(t.name, t.judgement.verdict, change_text(t)) for t in one.told],
            "left_out": sorted(one.left_out.items()),
        }
        for one in night.judged
    ]
    return pages.history_page(shown, WIDTH, HEIGHT)


def _drawn(one: Judged) -> list[Told]:
    changed = ("regressed", "improved")
    drawn = [t for t in one.told if t.history and (t.is_headline or t.judgement.verdict in changed)]
    return sorted(drawn, key=lambda t: (not t.is_headline, t.name))


def _chart(one: Judged, told: Told) -> Chart:
    column, j = told.metric[1], told.judgement
    values = [value for _, value in told.history]
    low, high = min(values), max(values)
    span = high - low or abs(high) or 1.0
    low, high = low - 0.08 * span, high + 0.08 * span

    def x(place: float) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * place / max(1, len(values) - 1), 1)

    def y(value: float) -> float:
        return round(HEIGHT - (HEIGHT * (value - low) / (high - low)), 1)

    runs = {run.run_id: run for run in (*one.earlier, *([one.run] if one.run else []))}
    marks = []
    for place, (run_id, value) in enumerate(told.history):
        is_last = place == len(values) - 1
        kind = "judged" if is_last else "spike" if place in j.spikes else "run"
        date = runs[run_id].date if run_id in runs else ""
        text = f"{run_id} {date}: {units.show(column, value)}"
        marks.append(Mark(x(place), y(value), text, kind))
    bounds = [0, *j.starts, len(values)]
    bands = [
        _band(values, first, end, j.noise or 0.0, x, y)
        for first, end in pairwise(bounds)
        if end > first and j.word != "drift"  # which has no level
    ]
    steps = [Mark(x(s - 0.5), 0.0, _at_step(one, told, s), "step") for s in j.starts]
    text = "  ".join(part for part in (change_text(told), since_text(one, told)) if part)
    return Chart(
        *(told.name, j.verdict, text, units.show(column, high), units.show(column, low)),
        *(" ".join(f"{mark.x},{mark.y}" for mark in marks), marks, bands, steps),
    )


def _band(
    values: Sequence[float],
    first: int,
    end: int,
    noise: float,
    x: Callable[[float], float],
    y: Callable[[float], float],
) -> Band:
    part = sorted(values[first:end])
    middle = part[len(part) // 2]
    top, bottom = y(middle + 2 * noise), y(middle - 2 * noise)
    top, bottom = max(0.0, top), min(float(HEIGHT), bottom)
    width = max(2.0, x(end - 1) - x(first))
    return Band(x(first), top, width, max(0.5, bottom - top), y(middle))


def _at_step(one: Judged, told: Told, start: int) -> str:
    """What changed with a step: versions and hosts of the runs before and after it."""
    from pipeline.history.series import suspects

    runs = {run.run_id: run for run in (*one.earlier, *([one.run] if one.run else []))}
    before, after = (runs.get(told.history[place][0]) for place in (start - 1, start))
    if before is None or after is None:
        return told.history[start][0]
    found = [f"{key} {a} -> {b}" for key, (a, b) in suspects(before, after).items()]
    what = "; ".join(found) or "no version or host changed"
    return f"{after.run_id} {after.date}: {what}"
