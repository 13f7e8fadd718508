import pytest
from bandwidth_rows import benchmark
from rows import Trace

MB = 1_000_000


def straight(latency_ns: float, speed: float, sizes: list[int]) -> dict[int, float]:
    """Busbw of an all-reduce on two ranks (factor 1) whose time is latency + size / speed."""
    return {size: size / (latency_ns + size / speed) for size in sizes}


def test_latency_and_bandwidth_of_a_straight_line(trace: Trace) -> None:
    sizes = [1_000, 100_000, 10 * MB, 1_000 * MB]
    benchmark(trace, "log", straight(20_000, 100, sizes))
    row = trace.only("FROM collective_curve")
    assert row["latency_ns"] == pytest.approx(20_000, rel=1e-3)
    assert row["asymptotic_busbw_bytes_per_s"] == pytest.approx(100e9, rel=1e-3)
    assert row["residual_share"] < 0.001
    assert row["half_bytes"] == pytest.approx(2 * MB, rel=1e-3)  # 20 us x 100 GB/s


def test_peak_and_plateau_are_those_of_the_table(trace: Trace) -> None:
    benchmark(trace, "log", {MB: 10, 2 * MB: 50, 4 * MB: 95, 8 * MB: 100, 16 * MB: 98})
    row = trace.only("FROM collective_curve")
    assert (row["peak_busbw_bytes_per_s"], row["peak_bytes"]) == (100e9, 8 * MB)
    assert (row["plateau_busbw_bytes_per_s"], row["plateau_min_bytes"]) == (98e9, 4 * MB)
    assert (row["has_plateau"], row["collapse_count"], row["verdict"]) == (True, 0, "healthy")


@pytest.mark.parametrize(
    ("points", "verdict"),
    [
        ({MB: 10, 2 * MB: 20, 4 * MB: 40, 8 * MB: 80}, "no plateau"),
        ({MB: 50, 2 * MB: 100, 4 * MB: 50, 8 * MB: 100, 16 * MB: 100}, "dip"),
        ({MB: 50, 2 * MB: 100, 4 * MB: 100, 8 * MB: 50}, "collapse"),
        ({MB: 100, 2 * MB: 100}, "too few sizes"),
    ],
)
def test_verdicts(trace: Trace, points: dict[int, float], verdict: str) -> None:
    benchmark(trace, "log", points)
    assert trace.only("FROM collective_curve")["verdict"] == verdict


def test_one_size_has_no_fit(trace: Trace) -> None:
    benchmark(trace, "log", {MB: 49})
    row = trace.only("FROM collective_curve")
    fit = ("latency_ns", "asymptotic_busbw_bytes_per_s", "residual_share", "half_bytes")
    assert {row[name] for name in fit} == {None}


def test_placements_and_sweeps_are_curves_of_their_own(trace: Trace) -> None:
    for more in ({}, {"is_in_place": False}, {"is_in_place": None}, {"sweep": 1}):
        benchmark(trace, "log", {MB: 10, 2 * MB: 20}, **more)
    rows = trace.ask("SELECT sweep, is_in_place, point_count FROM collective_curve")
    assert rows == [(0, False, 2), (0, True, 2), (0, None, 2), (1, True, 2)]
