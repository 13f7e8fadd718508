"""Ranks of one file in two steps of 100 us each, unless said otherwise."""

from typing import Any

import pytest
from rows import Trace

US = 1_000
REDUCE = "ncclAllReduce"
HIDDEN, NO_WAIT = "all communication hidden", "no rank waits for another"


def play(trace: Trace, *ranks: list[tuple[int, int, str]], **more: Any) -> None:
    """Each rank repeats its (start, end, name), in us, in every step."""
    for rank, works in enumerate(ranks):
        where = trace.rank(rank, source_id="one file")
        for step in range(2):
            begin = 100 * US * step
            trace.step(where, begin, begin + 100 * US, f"step {step}")
            for start_us, end_us, name in works:
                stream_id = 20 if name == REDUCE else 7
                span = begin + start_us * US, begin + end_us * US
                trace.launched(where, *span, name, stream_id=stream_id)
    trace.keep_for("what_if")


def scenarios(trace: Trace) -> dict[str, float | None]:
    rows = trace.ask("SELECT scenario, what_if_ns, step_ns, saved_ns, saved_share FROM what_if")
    for _, what_if_ns, step_ns, saved_ns, saved_share in rows:
        if what_if_ns is not None:
            assert 0 <= what_if_ns <= step_ns
            assert (saved_ns, saved_share) == (step_ns - what_if_ns, saved_ns / step_ns)
    return {row[0]: row[1] for row in rows}


def test_communication_hidden(trace: Trace) -> None:
    play(trace, [(0, 60, "gemm"), (60, 100, REDUCE)])
    assert scenarios(trace)[HIDDEN] == 60 * US
    assert trace.ask("SELECT DISTINCT step_count, rank_count, step_ns FROM what_if") == [
        (2, 1, 100 * US)
    ]


def test_hidden_communication_still_takes_its_time(trace: Trace) -> None:
    play(trace, [(0, 20, "gemm"), (10, 100, REDUCE)])
    assert scenarios(trace)[HIDDEN] == 90 * US


def test_communication_that_takes_no_time(trace: Trace) -> None:
    play(trace, [(0, 20, "gemm"), (10, 100, REDUCE)])
    assert scenarios(trace)["communication takes no time"] == 20 * US


def test_what_a_late_rank_alone_has_is_no_wall_of_its_own(trace: Trace) -> None:
    # Ranks 0 to 2 are idle for 10 us before their reduction, rank 3 for 40 us.
    early = [(0, 50, "gemm"), (60, 100, REDUCE)]
    play(trace, early, early, early, [(0, 50, "gemm"), (90, 100, REDUCE)])
    assert scenarios(trace)["no idle time of wall: launch"] == 90 * US


def test_no_rank_waits_for_another(trace: Trace) -> None:
    early, late = [(0, 50, "gemm"), (50, 100, REDUCE)], [(0, 80, "gemm"), (80, 100, REDUCE)]
    play(trace, early, early, late, early)
    assert scenarios(trace)[NO_WAIT] == 70 * US


def test_less_waiting_does_not_shorten_a_transfer(trace: Trace) -> None:
    # The late rank's transfer runs beside its compute: 60 us of it remain.
    early = [(0, 10, "gemm"), (10, 100, REDUCE)]
    late = [(0, 90, "gemm"), (40, 100, REDUCE)]
    play(trace, early, early, late)
    assert scenarios(trace)[NO_WAIT] == 60 * US


def test_compute_that_covered_waiting_covers_the_transfer_instead(trace: Trace) -> None:
    # Waiting of 30 us lies under the others' last 30 us of compute, so that all 40 us of
    # their transfer are exposed; on the late rank 10 us are. All alike it were 60 + 10 us.
    early = [(0, 30, "gemm"), (30, 60, "norm"), (30, 100, REDUCE)]
    late = [(0, 60, "gemm"), (60, 90, "norm"), (60, 100, REDUCE)]
    play(trace, early, early, early, late)
    told = scenarios(trace)
    assert told["gemm kernels as fast as on the median rank"] == 70 * US
    assert (told[NO_WAIT], told[HIDDEN]) == (70 * US, 90 * US)


def test_hidden_waiting_is_no_transfer(trace: Trace) -> None:
    # Of the first rank's 90 us in the reduction 70 are waiting, beside compute.
    play(trace, [(0, 85, "gemm"), (10, 100, REDUCE)], [(0, 80, "gemm"), (80, 100, REDUCE)])
    assert scenarios(trace)[HIDDEN] == 85 * US


def test_waits_that_are_unknown_are_said_to_be(trace: Trace) -> None:
    play(trace, [(0, 60, "gemm"), (60, 100, REDUCE)])
    row = trace.only(f"FROM what_if WHERE scenario = '{NO_WAIT}'")
    assert row["reason"] == "waiting could not be told from transfer"
    assert {row[name] for name in ("what_if_ns", "saved_ns", "saved_share")} == {None}
    assert trace.ask(f"SELECT reason FROM what_if WHERE scenario = '{HIDDEN}'") == [(None,)]


def test_the_model_says_that_unknown_waiting_counts_as_transfer(trace: Trace) -> None:
    # Of three that send and receive nothing tells who meets whom; the reductions are known.
    both = [(0, 10, "gemm"), (60, 80, REDUCE), (90, 100, "ncclSendRecv")]
    play(trace, both, both, both)
    rows = trace.ask("SELECT DISTINCT model FROM what_if")
    assert all(model.endswith("; unknown waiting counts as transfer") for (model,) in rows)


def test_a_step_of_unknown_waits_counts_as_measured(trace: Trace) -> None:
    early, late = [(0, 50, "gemm"), (50, 100, REDUCE)], [(0, 80, "gemm"), (80, 100, REDUCE)]
    play(trace, early, early, late, early)
    trace.launched(trace.rank(0, source_id="one file"), 190 * US, 191 * US, REDUCE, stream_id=20)
    trace.keep_for("what_if")
    assert scenarios(trace)[NO_WAIT] == (70 + 100) / 2 * US


def test_without_an_idle_cause(trace: Trace) -> None:
    # 30 us of idle time while a range loads data.
    where = trace.rank(0)
    for step in range(2):
        begin = 100 * US * step
        trace.step(where, begin, begin + 100 * US, f"step {step}")
        trace.launched(where, begin, begin + 50 * US)
        trace.step(where, begin + 45 * US, begin + 79 * US, "dataloader")
        trace.launched(where, begin + 80 * US, begin + 100 * US)
    trace.keep_for("what_if")
    found = scenarios(trace)
    idle = {name: what_if for name, what_if in found.items() if name.startswith("no idle time: ")}
    # The causes share 30 us in each of both steps.
    assert sum(100 * US - what_if for what_if in idle.values() if what_if is not None) == 30 * US
    assert "no idle time: data_loading" in idle


def test_without_its_idle_time_a_rank_is_not_faster_than_the_next(trace: Trace) -> None:
    # Rank 0 idles for 40 us; rank 1, which has no idle time, then sets the pace.
    for rank, gap_us in ((0, 40), (1, 0)):
        where = trace.rank(rank, source_id="one file")
        for step in range(2):
            begin = 100 * US * step
            trace.step(where, begin, begin + 100 * US, f"step {step}")
            trace.launched(where, begin, begin + (80 - gap_us) * US)
            trace.launched(where, begin + 80 * US, begin + 100 * US)
    trace.keep_for("what_if")
    found = scenarios(trace)
    assert {found[name] for name in found if name.startswith("no idle")} == {100 * US}


def test_the_largest_saving_comes_first_and_the_unknown_last(trace: Trace) -> None:
    play(trace, [(0, 60, "gemm"), (60, 100, REDUCE)])
    names = [name for (name,) in trace.ask("SELECT scenario FROM what_if")]
    assert (names[0], names[-1]) == (HIDDEN, NO_WAIT)


@pytest.mark.parametrize("own_us", [(50, 50, 50, 50), (50, 60, 70, 80), (10, 90, 10, 90)])
def test_never_above_what_was_measured_nor_below_the_transfer(
    trace: Trace, own_us: tuple[int, ...]
) -> None:
    play(trace, *[[(0, own, "gemm"), (own, 100, REDUCE)] for own in own_us])
    transfer_ns = (100 - max(own_us)) * US
    for what_if_ns in scenarios(trace).values():
        assert what_if_ns is None or transfer_ns <= what_if_ns <= 100 * US


def test_waiting_is_not_credited_to_an_idle_cause(trace: Trace) -> None:
    # Rank 0 waits 40 us for rank 1; both idle for 10 us before their second kernel.
    for rank, own_us in ((0, 40), (1, 80)):
        where = trace.rank(rank, source_id="one file")
        for step in range(2):
            begin = 100 * US * step
            trace.step(where, begin, begin + 100 * US, f"step {step}")
            trace.launched(where, begin, begin + 20 * US)
            trace.launched(where, begin + 30 * US, begin + own_us * US)
            trace.launched(where, begin + own_us * US, begin + 100 * US, REDUCE)
    trace.keep_for("what_if")
    idle = [ns for name, ns in scenarios(trace).items() if name.startswith("no idle time: ")]
    assert idle
    assert min(ns for ns in idle if ns is not None) == 90 * US


@pytest.mark.parametrize("call_us", [-2, 7], ids=["GPU clock ahead", "GPU clock behind"])
def test_no_cause_of_idle_time_is_saved_where_clocks_disagree(trace: Trace, call_us: int) -> None:
    where = trace.rank(0)
    trace.threshold("clock_late_ns", 0)
    for step in range(2):
        begin = 100 * US * step
        trace.step(where, begin - 5 * US, begin + 95 * US, f"step {step}")
        for start_us, end_us in ((10, 50), (80, 100)):
            start_ns, end_ns = begin + start_us * US, begin + end_us * US
            trace.launched(where, start_ns, end_ns, call_ns=start_ns + call_us * US)
        if call_us < 0:  # returns 15 us before the end of the work that it waited for
            trace.call(begin + 81 * US, begin + 85 * US, "cudaDeviceSynchronize", **where)
    trace.keep_for("what_if")
    rows = trace.ask("SELECT scenario, what_if_ns, reason FROM what_if")
    told = [(name, what_if_ns, reason) for name, what_if_ns, reason in rows
            if name.startswith("no idle time of wall: ")]  # fmt: skip
    by_us = 15 if call_us < 0 else 7
    assert told
    assert {(what_if_ns, reason) for _, what_if_ns, reason in told} == {
        (None, f"clocks of CPU and GPU disagree by {by_us * US} ns on rank 0")
    }
