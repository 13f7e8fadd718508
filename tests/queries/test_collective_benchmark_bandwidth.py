from bandwidth_rows import benchmark
from rows import Trace

MB = 1_000_000
SQL = """SELECT bytes, bytes_per_s / 1e9, reference_bytes_per_s / 1e9, low_share, reason
    FROM collective_benchmark_bandwidth"""


def test_points_against_the_nominal_link(trace: Trace) -> None:
    benchmark(trace, "log", {512: 0.5, 4 * MB: 100, 100 * MB: 225, 1_000 * MB: 480})
    update = "UPDATE collective_benchmark SET time_ns = NULL"  # no fit: threshold's floor counts
    trace.connection.execute(update)
    beyond = "beyond the nominal link: NVLS, SHARP or trees, or another link"
    assert trace.ask(SQL) == [
        (512, 0.5, 450, None, "small message: its latency limits it"),
        (4 * MB, 100, 450, None, None),
        (100 * MB, 225, 450, 0.6, None),
        (1_000 * MB, 480, 450, 0.6, beyond),
    ]


def test_busbw_is_that_of_the_table_and_without_a_link_there_is_no_reference(
    trace: Trace,
) -> None:
    benchmark(trace, "log", {8_000 * MB: 370.12}, hosts=("a", "b"))
    reason = "run.toml does not say hardware.interconnect"
    assert trace.ask(SQL) == [(8_000 * MB, 370.12, None, 0.6, reason)]


def test_conditions(trace: Trace) -> None:
    benchmark(trace, "log", {MB: 1}, is_in_place=False)
    row = trace.only("FROM collective_benchmark_bandwidth")
    assert row["conditions"] == "1000000 bytes, 2 ranks, 1 hosts, out of place"
    assert (row["host"], row["dur_ns"]) == ("node", MB)
