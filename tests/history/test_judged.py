"""What was judged, in the order of what it costs."""

import math

import pytest

from pipeline.history.compare import Judgement
from pipeline.history.judged import About, Judged, Told, by_cost
from pipeline.history.series import Run, Series

STEP, RATE = ("step_time", "step_ns"), ("collective_curve", "peak_busbw_bytes_per_s")


def told(metric: tuple[str, str], share: float | None, change: float = 1.0) -> Told:
    better = "lower" if metric == STEP else "higher"
    judgement = Judgement("regressed", change=change, change_share=share)
    return Told((*metric, "median", ""), About(None, better), judgement)


def judged(name: str, told: list[Told], gpus: str = "8") -> Judged:
    run = Run(name, 0, "", name, {"hardware.gpu_count": gpus}, {}, {})
    return Judged(Series(name, [run], ""), run, [], told, "regressed")


@pytest.mark.parametrize(("share", "lost"), [(-0.5, 1.0), (1.0, 0.5), (-1.0, math.inf)])
def test_a_rate_that_halves_takes_twice_the_time(share: float, lost: float) -> None:
    assert told(RATE, share).lost_share == lost


def test_from_zero_is_infinitely_more() -> None:
    assert told(STEP, None).lost_share == math.inf
    assert told(STEP, None, change=0.0).lost_share == 0.0


def test_the_dearest_comes_first_whatever_it_is_measured_in() -> None:
    step = judged("step", [told(STEP, 0.05), told(("top_kernel", "total_ns"), 4.0)])
    rate = judged("rate", [told(RATE, -0.2)])
    large = judged("large", [told(STEP, 0.05)], gpus="64")
    ordered = sorted([step, rate, large], key=by_cost)
    assert [one.series.name for one in ordered] == ["large", "rate", "step"]
