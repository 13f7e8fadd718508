"""Stages in one file, on one clock, in steps of 100 us."""

from typing import Any

import pytest
from rows import Trace

US = 1_000
EXCHANGE = "ncclDevKernel_SendRecv"
Work = tuple[int, int, str]


def play(trace: Trace, *stages: list[Work], steps: int = 2) -> None:
    """Each stage repeats its (start, end, name), in us, in every step."""
    for rank, works in enumerate(stages):
        where = trace.rank(rank, source_id="one file")
        for step in range(steps):
            begin = 100 * step * US
            trace.step(where, begin, begin + 100 * US, f"step {step}")
            for start_us, end_us, name in [*works, (99, 100, "adam")]:
                span = begin + start_us * US, begin + end_us * US
                stream_id = 20 if name == EXCHANGE else 7
                trace.launched(where, *span, name, stream_id=stream_id)
    trace.keep_for("pipeline_bubble")


def asked(trace: Trace, columns: str) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {columns} FROM pipeline_bubble ORDER BY ALL")


def first_and_second(trace: Trace) -> None:
    # One micro-batch: forward on 0 (0-30) and 1, backward on 1 and 0. Transfers take 5 us.
    first = [(0, 30, "gemm"), (30, 35, EXCHANGE), (35, 70, EXCHANGE), (70, 99, "gemm")]
    second = [(0, 35, EXCHANGE), (35, 65, "gemm"), (65, 70, EXCHANGE)]
    play(trace, first, second)


def test_waiting_for_the_other_stage_and_nothing_else(trace: Trace) -> None:
    first_and_second(trace)
    columns = "rank, send_receive_count, matched_count, exposed_wait_ns, idle_ns, bubble_ns"
    # The second waits 30 for its input, the first 30 for the gradient; the second is then idle.
    assert asked(trace, f"DISTINCT {columns}") == [
        (0, 2, 2, 30 * US, 0, 30 * US),
        (1, 2, 2, 30 * US, 29 * US, 30 * US),
    ]
    assert asked(trace, "DISTINCT bubble_share, peer") == [(0.3, "rank 0"), (0.3, "rank 1")]


def test_the_ideal_beside_it(trace: Trace) -> None:
    first_and_second(trace)
    columns = "DISTINCT stage_count, microbatch_count, ideal_share"
    assert asked(trace, columns) == [(2, 1, 0.5)]


def test_compute_beside_an_exchange_is_no_bubble(trace: Trace) -> None:
    play(
        trace,
        [(0, 60, "gemm"), (60, 65, EXCHANGE)],
        [(0, 50, "gemm"), (30, 65, EXCHANGE)],
    )
    # It waits in [30, 60), of which compute hides 20.
    assert asked(trace, "DISTINCT rank, bubble_ns") == [(0, 0), (1, 10 * US)]


def test_what_cannot_be_matched_is_unknown(trace: Trace) -> None:
    play(trace, [(0, 60, "gemm"), (60, 65, EXCHANGE), (70, 75, EXCHANGE)], [(0, 65, EXCHANGE)])
    assert asked(trace, "DISTINCT bubble_ns, bubble_share, exposed_wait_ns, reason") == [
        (None, None, None, "ranks ran different numbers of it")
    ]


def test_one_stage_only(trace: Trace) -> None:
    play(trace, [(0, 40, "gemm"), (40, 60, EXCHANGE)])
    columns = "DISTINCT bubble_ns, stage_count, ideal_share, peer, reason"
    assert asked(trace, columns) == [(None, None, None, None, "only one rank is present")]


def three_stages(trace: Trace, peers_told: bool) -> None:
    """0 -> 1 -> 2: the middle one has twice as many exchanges, on the same stream."""
    plan = {
        0: [(20, 25, 1)],
        1: [(0, 25, 0), (45, 50, 2)],
        2: [(0, 50, 1)],
    }
    for rank, exchanges in plan.items():
        where = trace.rank(rank, source_id="one file")
        call = {"communicator_id": "0xA", "thread": 1, **where}
        if peers_told:
            trace.insert(
                "collective_call", operation="init", start_ns=-1, rank=rank, rank_count=3, **call
            )
        for step in range(2):
            begin = 100 * step * US
            trace.step(where, begin, begin + 100 * US, f"step {step}")
            trace.launched(where, begin + 98 * US, begin + 99 * US)
            for start_us, end_us, peer in exchanges:
                start = begin + start_us * US
                if peers_told:
                    operation = "send" if peer > rank else "recv"
                    more = {"operation": operation, "peer_rank": peer, "message_bytes": 8}
                    trace.insert("collective_call", start_ns=start, end_ns=start, **more, **call)
                trace.launched(where, start, begin + end_us * US, EXCHANGE, stream_id=20)
    trace.keep_for("pipeline_bubble")


@pytest.mark.parametrize("peers_told", [True, False])
def test_three_stages_meet_in_pairs(trace: Trace, peers_told: bool) -> None:
    three_stages(trace, peers_told)
    rows = asked(trace, "DISTINCT rank, bubble_ns, stage_count, peer")
    if peers_told:
        assert rows == [
            (0, 0, 3, "rank 1"), (1, 20 * US, 3, "rank 0"), (2, 45 * US, 3, "rank 1")
        ]  # fmt: skip
    else:
        assert rows == [(rank, None, None, None) for rank in range(3)]


def test_without_sends_and_receives_there_is_no_pipeline(trace: Trace) -> None:
    play(trace, [(0, 40, "gemm"), (50, 70, "ncclAllReduce")])
    assert asked(trace, "*") == []


def test_pairs_in_lockstep_are_no_group_of_four(trace: Trace) -> None:
    # Ranks 2 and 3 do what 0 and 1 do, 5 us later: who meets whom is not recorded.
    first, second = [(0, 30, "gemm"), (30, 35, EXCHANGE)], [(0, 35, EXCHANGE)]
    later = [(0, 35, "gemm"), (35, 40, EXCHANGE)], [(0, 40, EXCHANGE)]
    play(trace, first, second, *later)
    assert asked(trace, "DISTINCT bubble_ns, peer, reason") == [
        (None, None, "which ranks send to each other is not recorded")
    ]


def test_sends_and_receives_of_one_pair_in_different_order(trace: Trace) -> None:
    # Two micro-batches: 0 sends twice before it receives, 1 sends back after each.
    plan = {
        0: [("send", 10, 20), ("send", 30, 60), ("recv", 60, 65)],
        1: [("recv", 0, 20), ("send", 40, 65), ("recv", 50, 60)],
    }
    for rank, exchanges in plan.items():
        where = trace.rank(rank, source_id="one file")
        call = {"communicator_id": "0xA", "thread": 1, **where}
        trace.insert(
            "collective_call", operation="init", start_ns=-1, rank=rank, rank_count=2, **call
        )
        for step in range(2):
            begin = 100 * step * US
            trace.step(where, begin, begin + 100 * US, f"step {step}")
            trace.launched(where, begin + 98 * US, begin + 99 * US)
            for operation, start_us, end_us in exchanges:
                start = begin + start_us * US
                more = {"operation": operation, "peer_rank": 1 - rank, "message_bytes": 8}
                trace.insert("collective_call", start_ns=start, end_ns=start, **more, **call)
                trace.launched(where, start, begin + end_us * US, EXCHANGE, stream_id=20)
    # 0 waits in [30, 50) for the second receive, 1 in [0, 10) for the first and in [40, 60).
    assert asked(trace, "DISTINCT rank, bubble_ns") == [(0, 20 * US), (1, 30 * US)]
