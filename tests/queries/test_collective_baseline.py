import math
from typing import Any

import pytest
from bandwidth_rows import all_reduce, benchmark
from rows import Trace

MB = 1_000_000


def job(trace: Trace, message_bytes: int = 4 * MB, start_ns: int | None = 1_000) -> None:
    all_reduce(trace, [(0, 100), (0, 100)], message_bytes)
    trace.insert("run", source_id="job", start_utc_ns=start_ns)


def found(trace: Trace) -> dict[str, Any]:
    return trace.only("FROM collective_baseline")


def test_interpolated_in_the_logarithm_of_the_size(trace: Trace) -> None:
    job(trace)
    benchmark(trace, "log", {2 * MB: 100, 8 * MB: 200})
    row = found(trace)
    assert row["busbw_bytes_per_s"] == pytest.approx(150e9)  # 4 is half way from 2 to 8
    assert (row["lower_bytes"], row["upper_bytes"]) == (2 * MB, 8 * MB)
    assert (row["origin"], row["reason"]) == ("same run", None)


def test_at_a_size_that_was_measured_it_is_the_table(trace: Trace) -> None:
    job(trace)
    benchmark(trace, "log", {2 * MB: 100, 4 * MB: 123, 8 * MB: 200})
    assert found(trace)["busbw_bytes_per_s"] == 123e9


def test_beyond_the_largest_size_it_stays_and_below_the_smallest_there_is_none(
    trace: Trace,
) -> None:
    job(trace)
    benchmark(trace, "log", {2 * MB: 100})
    assert (found(trace)["busbw_bytes_per_s"], found(trace)["confidence"]) == (100e9, "low")
    trace.connection.execute("UPDATE collective_benchmark SET size_bytes = 8000000")
    assert found(trace)["busbw_bytes_per_s"] is None
    assert found(trace)["reason"] == "smaller than any size measured"


def test_the_newest_before_the_run_counts(trace: Trace) -> None:
    job(trace)
    for start_ns, speed in ((100, 50), (900, 60), (1_100, 70)):
        more = {"run_id": f"at {start_ns}", "start_local_ns": start_ns}
        benchmark(trace, "log", {MB: speed, 8 * MB: speed}, **more)
    row = found(trace)
    assert (row["baseline_run_id"], row["busbw_bytes_per_s"]) == ("at 900", 60e9)
    assert (row["origin"], row["confidence"]) == ("earlier run", "high")


def test_the_run_that_run_toml_names_counts_before_all(trace: Trace) -> None:
    job(trace)
    benchmark(trace, "log", {MB: 50, 8 * MB: 50}, run_id="named")
    benchmark(trace, "own", {MB: 60, 8 * MB: 60})
    assert found(trace)["busbw_bytes_per_s"] == 60e9
    trace.description("baseline.run", "named")
    assert (found(trace)["busbw_bytes_per_s"], found(trace)["origin"]) == (
        50e9,
        "named by run.toml",
    )


def test_a_named_run_without_such_a_benchmark_is_not_replaced_in_silence(trace: Trace) -> None:
    job(trace)
    benchmark(trace, "own", {MB: 60, 8 * MB: 60})
    trace.description("baseline.run", "nccl-baseline")
    row = found(trace)
    assert row["busbw_bytes_per_s"] is None
    assert row["reason"].startswith("run nccl-baseline, which run.toml names, has no benchmark of")


@pytest.mark.parametrize(
    "other",
    [
        {"op": "all_gather"},
        {"nranks": 8},
        {"hosts": ("node", "other"), "nranks": 2},
        {"run_id": "later", "start_local_ns": 2_000},
    ],
)
def test_another_kind_of_benchmark_is_none(trace: Trace, other: dict[str, Any]) -> None:
    job(trace)
    benchmark(trace, "log", {MB: 60, 8 * MB: 60}, **other)
    assert found(trace)["busbw_bytes_per_s"] is None


def test_another_gpu_is_another_cluster(trace: Trace) -> None:
    trace.device(1, source_id="job", name="NVIDIA B200")
    trace.device(2, source_id="job", name="NVIDIA B200")
    job(trace)
    benchmark(trace, "log", {MB: 60, 8 * MB: 60})
    assert found(trace)["busbw_bytes_per_s"] is None


def test_the_same_hosts_and_the_placement_of_the_job_are_preferred(trace: Trace) -> None:
    job(trace)
    benchmark(trace, "fast", {MB: 90, 8 * MB: 90}, hosts=("other",))
    benchmark(trace, "own", {MB: 60, 8 * MB: 60}, is_in_place=False)
    assert (found(trace)["busbw_bytes_per_s"], found(trace)["confidence"]) == (60e9, "medium")
    benchmark(trace, "own", {MB: 70, 8 * MB: 70}, is_in_place=True)
    assert (found(trace)["busbw_bytes_per_s"], found(trace)["confidence"]) == (70e9, "high")


def test_an_undated_run_is_better_than_none(trace: Trace) -> None:
    job(trace)
    benchmark(trace, "log", {MB: 60, 8 * MB: 60}, run_id="undated")
    row = found(trace)
    assert (row["origin"], row["confidence"]) == ("run of unknown date", "low")


def test_types_do_not_matter_bytes_do(trace: Trace) -> None:
    job(trace)
    benchmark(trace, "log", {MB: 60, 8 * MB: 60}, dtype="bfloat16")
    assert math.isclose(found(trace)["busbw_bytes_per_s"], 60e9)
