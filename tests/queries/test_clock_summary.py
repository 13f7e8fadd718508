from pytest import approx
from rows import Trace

S = 10**9


def test_shares_of_the_time(trace: Trace) -> None:
    trace.rounds(
        sm_clock_hz=[2e9, 2e9, 2e9, 2e9, 2e9, 1e9, 1e9, 1e9, 1e9, 0.3e9],
        clock_event_reasons=[4, 4, 4, 4, 4, 0x88, 0x40, 0, 0, 1],
        power_w=[700] * 5 + [350] * 4 + [100],
        temperature_celsius=[60] * 5 + [90] * 4 + [40],
        power_limit_w=700,
    )
    row = trace.only("FROM clock_summary")
    shares = ("throttled", "power_brake", "thermal", "unexplained", "power_cap", "active")
    assert [row[f"{name}_share"] for name in shares] == [0.4, 0.1, 0.1, 0.2, 0.5, 0.9]
    assert (row["median_clock_hz"], row["own_clock_hz"]) == (2e9, 2e9)
    assert row["mean_power_w"] == approx(4900 / 9)
    assert row["power_share"] == approx(7 / 9)
    assert (row["span_ns"], row["coverage_share"]) == (10 * S, 1)
    assert row["max_temperature_celsius"] == 90


def test_missing_samples_show_in_the_coverage(trace: Trace) -> None:
    trace.rounds(power_w=[1, 1, 1, None, None, None, None, None, None, 1])
    row = trace.only("FROM clock_summary")
    assert row["coverage_share"] == 0.4
    assert row["throttled_share"] is row["active_share"] is row["median_clock_hz"] is None
