from typing import Any

import pytest
from bandwidth_rows import H100, all_reduce, benchmark
from rows import Trace

MS = 1_000_000
MB = 1_000_000
MESSAGE = 1_000 * MB  # on two ranks busbw is algbw: 50 ms are 20 GB/s

CAUSE = "SELECT cause, expected_source FROM collective_efficiency"


def run(trace: Trace, *spans: tuple[tuple[int, int], ...], message_bytes: int | None) -> None:
    for number, span in enumerate(spans):
        all_reduce(trace, list(span), message_bytes, number=number)


def both(start: int, end: int) -> tuple[tuple[int, int], ...]:
    return ((start * MS, end * MS), (start * MS, end * MS))


def test_from_50_to_800_ms_with_the_same_payload_is_transfer(trace: Trace) -> None:
    benchmark(trace, "log", {100 * MB: 20, 2_000 * MB: 20})
    run(trace, both(0, 50), both(100, 900), message_bytes=MESSAGE)
    rows = trace.ask(
        "SELECT transfer_ns / 1e6, mean_wait_ns, efficiency_share, cause FROM collective_efficiency"
    )
    assert rows == [
        (50, 0, pytest.approx(1), "none"),
        (800, 0, pytest.approx(50 / 800), "transfer"),
    ]


def test_the_mirror_a_late_rank_is_wait(trace: Trace) -> None:
    benchmark(trace, "log", {100 * MB: 20, 2_000 * MB: 20})
    late = ((100 * MS, 900 * MS), (850 * MS, 900 * MS))
    run(trace, both(0, 50), late, message_bytes=MESSAGE)
    rows = trace.ask(
        "SELECT dur_ns / 1e6, transfer_ns / 1e6, efficiency_share, cause, last_rank "
        "FROM collective_efficiency"
    )
    assert rows[1] == (800, 50, pytest.approx(1), "wait", 1)


def test_without_a_reference_its_own_history_tells(trace: Trace) -> None:
    spans = both(0, 50), both(1_000, 1_050), both(2_000, 2_800)
    run(trace, *spans, message_bytes=MESSAGE)
    rows = trace.ask(CAUSE)
    assert rows == [("none", "own history")] * 2 + [("transfer", "own history")]


def test_the_place_in_the_step_tells_which_are_alike_without_payload(trace: Trace) -> None:
    for number in range(3):
        for rank in (0, 1):
            where = trace.rank(rank, source_id="job", host="node")
            start = number * 1_000 * MS
            trace.step(where, start, start + 900 * MS, f"step {number}")
    spans = both(0, 50), both(60, 70), both(1_000, 1_050), both(1_060, 1_070)
    run(trace, *spans, both(2_000, 2_800), both(2_860, 2_870), message_bytes=None)
    rows = trace.ask("SELECT step, expected_ns / 1e6, cause FROM collective_efficiency")
    assert rows == [
        (0, 50, "none"),
        (0, 10, "none"),
        (1, 50, "none"),
        (1, 10, "none"),
        (2, 50, "transfer"),
        (2, 10, "none"),
    ]


def test_without_payload_and_steps_nothing_is_expected(trace: Trace) -> None:
    run(trace, both(0, 50), both(1_000, 1_800), message_bytes=None)
    assert trace.ask(CAUSE) == [(None, None)] * 2


def test_the_nominal_link_where_nothing_was_measured(trace: Trace) -> None:
    for process in (1, 2):
        trace.device(process, source_id="job", name=H100)
    run(trace, both(0, 50), message_bytes=MESSAGE)
    row = trace.only("FROM collective_efficiency")
    assert row["reference_source"] == "nominal: NVLink 4 of H100 SXM5 80 GB"
    assert row["efficiency_share"] == pytest.approx(20 / 450)
    assert (row["cause"], row["confidence"]) == ("transfer", "low")


def refused(trace: Trace, end_ns: int, message_bytes: int | None) -> dict[str, Any]:
    for process in (1, 2):
        trace.device(process, source_id="job", name=H100)
    all_reduce(trace, [(0, end_ns), (0, end_ns)], message_bytes)
    row = trace.only("FROM collective_efficiency")
    assert row["efficiency_share"] is None
    return row


def test_more_than_the_nominal_link_is_refused(trace: Trace) -> None:
    row = refused(trace, 2 * MS, MESSAGE)  # 500 GB/s
    assert row["reason"].startswith("beyond the nominal link") and row["cause"] == "none"


def test_a_small_message_has_no_efficiency(trace: Trace) -> None:
    row = refused(trace, 20_000, 1024)
    assert "too small for a nominal rate" in row["reason"]


def test_without_payload_there_is_no_efficiency(trace: Trace) -> None:
    row = refused(trace, MS, None)
    assert row["reason"] == "the size of the message is not told"


def test_latency_of_the_benchmark_decides_what_is_small(trace: Trace) -> None:
    # 20 us + size / 100 GB/s: half-time size 2 MB.
    sizes = (1_000, 100_000, 10 * MB, 1_000 * MB)
    benchmark(trace, "log", {size: size / (20_000 + size / 100) for size in sizes})
    all_reduce(trace, [(0, 30_000), (0, 30_000)], MB)
    row = trace.only("FROM collective_efficiency")
    assert (row["efficiency_share"], row["expected_source"]) == (None, "reference")
    assert row["reason"] == "small message: its latency limits it"
