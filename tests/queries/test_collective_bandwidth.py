from bandwidth_rows import all_reduce, benchmark
from rows import Trace

MB = 1_000_000
SQL = """SELECT name, conditions, subject_count, bytes_per_s / 1e9, reference_bytes_per_s / 1e9,
    low_share, reason FROM collective_bandwidth"""


def test_collectives_by_size_against_the_own_benchmark(trace: Trace) -> None:
    benchmark(trace, "log", {100 * MB: 20, 2_000 * MB: 20})
    for number, dur_ns in enumerate((50_000_000, 100_000_000, 50_000_000)):
        start_ns = number * 1_000_000_000
        spans = [(start_ns, start_ns + dur_ns)] * 2
        all_reduce(trace, spans, 1_000 * MB, number=number)
    assert trace.ask(SQL) == [
        ("all_reduce", "1000000000 bytes, 2 ranks, 1 hosts", 3, 20, 20, 0.8, None)
    ]


def test_one_rank_alone_says_why_there_is_nothing(trace: Trace) -> None:
    trace.kernel(0, 100, "ncclAllReduce")
    trace.kernel(200, 300, "ncclAllReduce")
    row = trace.only("FROM collective_bandwidth")
    assert (row["subject_count"], row["bytes_per_s"], row["reference_bytes_per_s"]) == (
        2,
        None,
        None,
    )
    assert row["reason"] == "only one rank is present"


def test_no_collectives_no_rows(trace: Trace) -> None:
    trace.kernel(0, 100)
    assert trace.ask(SQL) == []
