import pytest
from bandwidth_rows import benchmark
from rows import Trace


def repeats(trace: Trace, *speeds: float) -> None:
    for number, speed in enumerate(speeds):
        benchmark(trace, f"log {number}", {1024: speed})


def together(trace: Trace) -> dict[str, object]:
    return trace.only("FROM collective_curve_spread WHERE hosts IS NULL")


def test_spread_of_repeats_on_the_same_hosts(trace: Trace) -> None:
    repeats(trace, 90, 100, 105)
    row = trace.only("FROM collective_curve_spread WHERE hosts = 'node'")
    assert (row["curve_count"], row["set_count"]) == (3, 1)
    assert (row["spread_share"], row["gap_share"]) == (0.15, 0.1)
    assert (row["lowest_source_id"], row["is_bimodal"]) == ("log 0", False)


@pytest.mark.parametrize(
    ("speeds", "is_bimodal"),
    [
        ((49, 50, 88, 87), True),
        ((49, 88, 87, 88), False),  # one is an outlier
        ((50, 60, 70, 80), False),  # no gap stands out
        ((88, 88, 89, 90), False),
    ],
)
def test_two_states(trace: Trace, speeds: tuple[float, ...], is_bimodal: bool) -> None:
    repeats(trace, *speeds)
    assert together(trace)["is_bimodal"] is is_bimodal


def test_sets_of_hosts_and_all_of_them(trace: Trace) -> None:
    benchmark(trace, "x", {1024: 88}, hosts=["a", "b"])
    benchmark(trace, "y", {1024: 44}, hosts=["b", "c"])
    row = together(trace)
    assert (row["set_count"], row["lowest_hosts"]) == (2, "b c")
    assert trace.ask("SELECT count(*) FROM collective_curve_spread") == [(1,)]


def test_one_measurement_has_no_spread(trace: Trace) -> None:
    benchmark(trace, "x", {1024: 88})
    benchmark(trace, "y", {1024: 88}, op="all_gather")
    assert trace.ask("FROM collective_curve_spread") == []
