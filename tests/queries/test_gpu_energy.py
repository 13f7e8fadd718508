from typing import Any

from pytest import approx
from rows import Trace


def energy(trace: Trace, **rounds: Any) -> dict[str, Any]:
    trace.rounds(**rounds)
    return trace.only("FROM gpu_energy")


def test_counter_and_power_agree(trace: Trace) -> None:
    row = energy(trace, power_w=[100, 300, 300], energy_j=[7, 207, 507])
    assert (row["energy_j"], row["counted_j"], row["integral_j"]) == (500, 500, 500)
    assert (row["agreement_ratio"], row["origin"], row["mean_power_w"]) == (1, "counter", 250)


def test_power_fills_a_reset_of_the_counter(trace: Trace) -> None:
    row = energy(trace, power_w=[100] * 4, energy_j=[900, 1000, 40, 140])
    assert (row["energy_j"], row["origin"], row["reset_count"]) == (300, "counter and power", 1)
    assert (row["coverage_share"], row["agreement_ratio"]) == (1, 1)


def test_a_reset_without_power_lowers_the_coverage(trace: Trace) -> None:
    row = energy(trace, energy_j=[900, 1000, 40, 140])
    assert (row["energy_j"], row["origin"]) == (200, "counter")
    assert row["coverage_share"] == approx(2 / 3)


def test_power_alone(trace: Trace) -> None:
    row = energy(trace, power_w=[100, 100])
    assert (row["energy_j"], row["origin"], row["agreement_ratio"]) == (100, "power", None)
    assert row["idle_j"] is None


def test_idle_energy(trace: Trace) -> None:
    row = energy(trace, power_w=[300, 300, 300, 300, 300], gpu_util_share=[1, 1, 1, 0, 0])
    assert (row["energy_j"], row["idle_j"], row["idle_share"]) == (1200, 300, 0.25)


def test_neither_is_not_nothing(trace: Trace) -> None:
    row = energy(trace, gpu_util_share=[1, 1])
    assert row["energy_j"] is row["origin"] is row["idle_j"] is None
    assert row["coverage_share"] == 0
