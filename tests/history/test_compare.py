"""Verdicts on series of numbers whose truth is known: noise, steps, spikes, drift."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.history import changes
from pipeline.history.compare import Judgement, Point, Rule, compare_two, judge, rejected, settle

RULE = Rule()


def verdict(values: object, better: str = "lower", floor: float = 0.0) -> Judgement:
    points = [Point(float(v)) for v in values]  # type: ignore[attr-defined]
    return settle([judge(points, better, floor, RULE)], RULE)[0]  # type: ignore[arg-type]


def noise(
    count: int, share: float, seed: int = 0
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return 100.0 * (1.0 + share * np.random.default_rng(seed).normal(size=count))


def test_benjamini_and_hochberg_rejects_two_of_five() -> None:
    assert rejected([0.001, 0.008, 0.039, 0.041, 0.9]) == [True, True, False, False, False]
    assert rejected([0.9, 0.041, 0.001, 0.039, 0.008]) == [False, False, True, False, True]
    assert rejected([]) == []


def test_a_larger_rank_may_lift_a_smaller_one() -> None:
    assert rejected([0.03, 0.04, 0.05]) == [True, True, True]


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_the_direction_decides(better: str) -> None:
    up = verdict([*noise(20, 0.005), 113.6], better)
    down = verdict([*noise(20, 0.005), 88.0], better)
    expected = ("regressed", "improved") if better == "lower" else ("improved", "regressed")
    assert (up.verdict, down.verdict) == expected
    assert up.word == "one night" and up.since == 20
    assert up.change_share == pytest.approx(0.136, abs=0.005)


def test_a_change_from_zero_has_no_percentage() -> None:
    told = verdict([0.0] * 10 + [12.0])
    assert (told.verdict, told.change, told.change_share) == ("regressed", 12.0, None)


def test_a_constant_is_unchanged() -> None:
    assert verdict([5.0] * 12).verdict == "unchanged"


def test_too_few_runs_are_no_baseline() -> None:
    assert verdict([]).verdict == "missing"
    assert verdict([1.0]).verdict == "no baseline"
    few = verdict([1.0, 1.0, 1.0, 2.0])
    assert (few.verdict, few.word) == ("no baseline", "too short")


def test_a_floor_in_the_unit_of_the_metric_holds() -> None:
    values = [10.0] * 10 + [12.0]
    assert verdict(values, floor=3.0).verdict == "unchanged"
    assert verdict(values, floor=1.0).verdict == "regressed"


def test_a_lasting_step_under_the_gate_of_a_night_is_found() -> None:
    values = noise(45, 0.004)
    values[30:] *= 1.0116
    told = verdict(values)
    assert (told.verdict, told.word) == ("regressed", "lasting step")
    assert told.since is not None and abs(told.since - 30) <= 1
    assert told.change_share == pytest.approx(0.0116, abs=0.003)


def test_a_step_that_was_taken_back_is_an_improvement() -> None:
    values = noise(40, 0.005)
    values[20:32] *= 1.05
    assert verdict(values[:30]).verdict == "regressed"
    assert verdict(values).verdict == "improved"


def test_a_spike_is_no_step() -> None:
    values = noise(40, 0.01)
    values[20] = 130.0
    told = verdict(values)
    assert (told.verdict, told.starts, told.spikes) == ("unchanged", (), (20,))
    values[[8, 30]] = 125.0
    again = verdict([*values, 128.0])
    assert (again.verdict, again.word) == ("inconclusive", "single spike")


def test_a_spike_the_night_before_leaves_tonight_alone() -> None:
    values = noise(30, 0.01)
    values[28] = 130.0
    assert verdict(values).verdict == "unchanged"


def test_a_cold_start_is_no_improvement() -> None:
    values = noise(30, 0.01)
    values[:2] = 150.0
    told = verdict(values)
    assert (told.verdict, told.starts) == ("unchanged", ())


def test_a_slow_drift_is_found() -> None:
    values = noise(40, 0.003) * (1.0 + 0.001 * np.arange(40))
    told = verdict(values)
    assert (told.verdict, told.word) == ("regressed", "drift")
    assert told.change_share == pytest.approx(0.04, abs=0.006)
    assert max(abs(np.diff(values) / values[1:])) < RULE.night_share


def test_much_noise_gives_no_verdict() -> None:
    spread = np.random.default_rng(1).permutation(np.linspace(-0.11, 0.11, 20))
    told = verdict(100.0 * (1.0 + spread))
    assert (told.verdict, told.word) == ("inconclusive", "noisy")


def test_an_even_spread_of_22_percent_is_noise_too() -> None:
    told = verdict(100.0 + 22.0 * np.random.default_rng(5).permutation(np.linspace(0, 1, 16)))
    assert (told.verdict, told.word) == ("inconclusive", "noisy")


def test_two_modes_are_not_regressions_of_each_other() -> None:
    values = [100, 110, 100, 100, 110, 110, 100, 110, 100, 110, 100]
    told = verdict([*values, 110])
    assert (told.verdict, told.word) == ("inconclusive", "bimodal")
    assert verdict([*values, 130]).verdict == "regressed"


def test_what_would_need_a_longer_history_is_not_called_unchanged() -> None:
    told = verdict([100.0, 101.0, 99.0, 100.5, 99.5, 103.0])
    assert (told.verdict, told.word) == ("inconclusive", "too short")


def test_what_the_next_night_may_call_a_step_is_not_called_unchanged() -> None:
    for times in (4.0, 5.0, 6.0):
        told = verdict([*noise(30, 0.01), 100.0 + times])
        assert (told.verdict, told.word) == ("inconclusive", "unconfirmed")
    assert verdict([*noise(30, 0.01), 101.5]).verdict == "unchanged"


def test_one_sample_where_others_have_many_is_too_short() -> None:
    points = [Point(100.0 + i % 3, 50) for i in range(20)] + [Point(130.0, 1)]
    told = judge(points, "lower", 0.0, RULE)
    assert (told.verdict, told.word) == ("inconclusive", "too short")


def nights_called(count: int, share: float, months: int, seed: int) -> int:
    """Months of 30 nights of noise, after 20 nights, in which any night is called."""
    called = 0
    for month in range(months):
        values = noise(count + 30, share, seed + month)
        told = [verdict(values[: night + 1]).verdict for night in range(count, count + 30)]
        called += any(one in ("regressed", "improved") for one in told)
    return called


def test_noise_of_5_percent_raises_hardly_an_alarm() -> None:
    # the rate itself was measured over some thousand.
    assert nights_called(20, 0.05, 25, 1000) <= 1


def test_a_3_percent_step_in_1_percent_noise_is_found() -> None:
    found = 0
    for seed in range(20):
        values = noise(38, 0.01, seed)
        values[30:] *= 1.03
        told = verdict(values)
        found += told.verdict == "regressed" and abs((told.since or 0) - 30) <= 1
    assert found >= 18


def test_a_step_of_6_times_the_noise_waits_for_its_second_night() -> None:
    """Noise whose tails fall slowly shows single nights like it."""
    for seed in range(10):
        history = [*noise(30, 0.01, seed), 106.0]
        first = verdict(history)
        assert first.verdict == "regressed" or first.word == "unconfirmed"
        second = verdict([*history, 105.5])
        assert (second.verdict, second.since) == ("regressed", 30)


@pytest.mark.parametrize("nights", range(2, 12))
def test_a_step_began_when_it_began(nights: int) -> None:
    told = verdict([*noise(18, 0.003), *(1.136 * noise(nights, 0.003, 1))])
    assert (told.verdict, told.word, told.since) == ("regressed", "lasting step", 18)


def test_tails_that_fall_slowly_raise_hardly_an_alarm() -> None:
    # 1 in 100 over a thousand months; with normal tails assumed it was 1 in 8.
    called = 0
    for month in range(25):
        noise_t = np.random.default_rng([4, month]).standard_t(4, size=50)
        values = 100.0 * (1.0 + 0.01 * noise_t / math.sqrt(2.0))
        told = [verdict(values[: night + 1]).verdict for night in range(20, 50)]
        called += any(one in ("regressed", "improved") for one in told)
    assert called <= 1


def test_a_few_far_nights_at_one_end_are_no_step() -> None:
    left, right = np.array([0.0, 1.0, -1.0, 4.0, 0.5]), np.array([5.0, 3.9])
    assert not changes._stands_out(left, right)
    assert changes._stands_out(left, right + 2.0)


def test_a_5_percent_step_in_a_third_percent_of_noise_is_found_the_same_night() -> None:
    assert all(
        verdict([*noise(20, 0.0033, seed), 105.0]).verdict == "regressed" for seed in range(20)
    )


finite = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)


@given(finite, st.integers(1, 1000), st.none() | st.floats(0, 1e12))
def test_a_run_is_never_a_regression_of_itself(
    value: float, count: int, spread: float | None
) -> None:
    point = Point(value, count, spread)
    assert compare_two(point, point, "lower", 0.0, None, RULE).verdict == "unchanged"
    assert judge([point] * 12, "lower", 0.0, RULE).verdict == "unchanged"


@given(st.lists(finite, min_size=1, max_size=30))
def test_a_verdict_is_the_same_every_time_and_has_no_nan(values: list[float]) -> None:
    one, two = verdict(values), verdict(values)
    assert one == two
    numbers = [one.change, one.noise, one.p_value, *(one.interval or ())]
    assert not any(math.isnan(n) for n in numbers if n is not None)


@given(st.lists(st.floats(1.0, 1e6), min_size=5, max_size=25), st.integers(1, 20))
def test_a_verdict_does_not_depend_on_the_unit(values: list[float], power: int) -> None:
    scaled = [value * 2.0**power for value in values]
    assert verdict(values).verdict == verdict(scaled).verdict


def test_two_runs() -> None:
    base, slower = Point(100.0, 50, 1.0), Point(113.6, 50, 1.0)
    told = compare_two(base, slower, "lower", 0.0, None, RULE)
    assert (told.verdict, told.reason) == ("regressed", "noise between runs is not known")
    assert compare_two(slower, base, "lower", 0.0, None, RULE).verdict == "improved"
    noisy = compare_two(base, Point(122.0, 50, 1.0), "lower", 0.0, 22.0, RULE)
    assert (noisy.verdict, noisy.word) == ("inconclusive", "noisy")
    alone = compare_two(Point(100.0), Point(150.0), "lower", 0.0, None, RULE)
    assert (alone.verdict, alone.word) == ("inconclusive", "too short")


def test_two_runs_of_one_sample_are_judged_by_the_noise_between_runs() -> None:
    """A benchmark has one row per size: 480 -> 386 GB/s where runs spread by 1 %."""
    base, run = Point(480.0, 1), Point(386.0, 2, 0.1)
    assert compare_two(base, run, "higher", 0.0, 4.8, RULE, 12).verdict == "regressed"
    assert compare_two(base, run, "higher", 0.0, 4.8, RULE, 1).verdict == "inconclusive"
    assert compare_two(base, run, "higher", 0.0, None, RULE, 0).word == "too short"
    many = [Point(480.0, 9, 1.0), Point(386.0, 9, 1.0)]
    assert compare_two(*many, "higher", 0.0, None, RULE, 0).verdict == "regressed"


def test_spikes_at_both_ends_are_seen() -> None:
    values = np.array([9.0, 1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 9.0])
    assert changes.spikes(values, 0.1) == (0, 7)


def test_a_series_that_only_jumps_has_no_spikes() -> None:
    assert changes.spikes(np.array([5.0, 0.0, 4.0, 0.0, 4.0, 0.0]), 0.1) == ()
