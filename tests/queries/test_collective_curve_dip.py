from bandwidth_rows import benchmark
from rows import Trace

SQL = """SELECT size_bytes, busbw_bytes_per_s / 1e9, reached_bytes, lost_share, kind
    FROM collective_curve_dip"""


def test_a_dip_is_reached_again(trace: Trace) -> None:
    benchmark(trace, "log", {1: 50, 2: 100, 4: 25, 8: 100})
    assert trace.ask(SQL) == [(4, 25, 2, 0.75, "dip")]


def test_a_collapse_is_not(trace: Trace) -> None:
    benchmark(trace, "log", {1: 50, 2: 100, 4: 50, 8: 25})
    assert trace.ask(SQL) == [(4, 50, 2, 0.5, "collapse"), (8, 25, 2, 0.75, "collapse")]


def test_a_change_of_protocol_and_noise_of_latency_are_none(trace: Trace) -> None:
    benchmark(trace, "log", {1: 2, 2: 1, 4: 100, 8: 85, 16: 100})
    assert trace.ask(SQL) == []


def test_placements_are_not_compared_with_each_other(trace: Trace) -> None:
    benchmark(trace, "log", {1: 100, 2: 100}, is_in_place=True)
    benchmark(trace, "log", {4: 25}, is_in_place=False)
    assert trace.ask(SQL) == []
