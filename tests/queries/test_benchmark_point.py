from bandwidth_rows import benchmark
from rows import Trace

SQL = "SELECT size_bytes, row_count, busbw_bytes_per_s / 1e9 FROM benchmark_point ORDER BY ALL"


def test_layout_gpu_and_names_as_the_job_s(trace: Trace) -> None:
    benchmark(trace, "log", {1024: 40}, hosts=["b", "a"], op="alltoall", start_local_ns=7)
    row = trace.only("FROM benchmark_point")
    assert (row["operation"], row["rank_count"], row["host_count"]) == ("all_to_all", 4, 2)
    assert (row["hosts"], row["gpu"], row["factor"]) == (["a", "b"], "H100 SXM5 80 GB", 0.75)
    assert row["measured_local_ns"] == 7


def test_types_of_one_size_are_one_point(trace: Trace) -> None:
    for dtype, speed in (("float", 40), ("half", 42), ("int8", 60)):
        benchmark(trace, "log", {1024: speed}, dtype=dtype)
    assert trace.ask(SQL) == [(1024, 3, 42)]


def test_what_cannot_be_believed_is_left_out(trace: Trace) -> None:
    benchmark(trace, "log", {1024: 40})
    benchmark(trace, "log", {2048: 90}, is_consistent=False)  # a doctored row
    benchmark(trace, "log", {4096: 90}, wrong_count=3)
    benchmark(trace, "log", {0: 90, 8192: 0})
    benchmark(trace, "alone", {1024: 40}, nranks=1)
    assert trace.ask(SQL) == [(1024, 1, 40)]


def test_mixed_or_failed_tests_are_left_out(trace: Trace) -> None:
    for source_id, fault in (("a", "is_interleaved = true"), ("b", "is_out_of_bounds_ok = false")):
        benchmark(trace, source_id, {1024: 40})
        update = f"UPDATE collective_benchmark_run SET {fault} WHERE source_id = '{source_id}'"
        trace.connection.execute(update)
    assert trace.ask(SQL) == []


def test_run_toml_dates_a_log_that_does_not(trace: Trace) -> None:
    benchmark(trace, "log", {1024: 40})
    trace.description("run.start", "2026-03-02T08:00:00Z")
    row = trace.only("SELECT measured_local_ns AS ns FROM benchmark_point")
    assert row["ns"] == 1_772_438_400_000_000_000
