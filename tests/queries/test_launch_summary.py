from typing import Any

import pytest
from rows import Trace


def summary(trace: Trace, *columns: str) -> tuple[Any, ...]:
    ((*row,),) = trace.ask(f"SELECT {', '.join(columns)} FROM launch_summary")
    return tuple(row)


def test_everything(trace: Trace) -> None:
    # Four launches of 10 ns, one every 100 ns; the first kernel holds up the others.
    starts = (20, 10_020, 10_120, 20_000)
    for number, start_ns in enumerate(starts):
        call_ns = 100 * number
        end_ns = 10_020 if number == 0 else start_ns + 50
        trace.launch((call_ns, call_ns + 10), (start_ns, end_ns))
    trace.copy(99_950, 100_020)  # without a call
    assert trace.only("FROM launch_summary") == {
        "run_id": "run",
        "host": "node",
        "rank": 0,
        "device_id": 0,
        "process": 1,
        "activity_count": 5,
        "launched_count": 4,
        "launch_count": 4,
        "kernel_count": 4,
        "kernels_per_s": 4 / 100_000e-9,
        "short_kernel_count": 3,
        "short_kernel_share": 0.75,
        "median_kernel_ns": 50,
        "median_call_ns": 10,
        # 20, 9 920, 9 920 and 19 700 ns
        "median_latency_ns": 9_920,
        "p90_latency_ns": pytest.approx(9_920 + 0.7 * 9_780),
        "p99_latency_ns": pytest.approx(9_920 + 0.97 * 9_780),
        # 0, 0, 1 and 2
        "median_queue_depth": 0,
        "p90_queue_depth": 2,
        "empty_queue_share": 0.5,
        "early_count": 0,
        "worst_early_ns": 0,
        "waited_count": 0,
        "late_count": 0,
        "worst_late_ns": None,
        "disagreement_ns": None,
        "is_aligned": True,
        "source_id": "a",
    }


def test_a_kernel_that_starts_with_a_call_is_queued_no_longer(trace: Trace) -> None:
    trace.launch((0, 10), (50, 60))
    trace.launch((49, 50), (70, 80))  # one is waiting
    trace.launch((50, 51), (90, 100))  # one is waiting, the first has just begun
    assert summary(trace, "median_queue_depth", "p90_queue_depth", "empty_queue_share") == (
        1,
        1,
        1 / 3,
    )


def test_the_nodes_of_a_graph_have_one_launch(trace: Trace) -> None:
    trace.call(0, 20, "cudaGraphLaunch", correlation_id=1)
    for node in range(3):
        trace.kernel(100 + 20 * node, 110 + 20 * node, correlation_id=1, graph_node_id=node)
    trace.launch((130, 140), (200, 210))
    columns = ("launched_count", "launch_count", "median_call_ns", "median_latency_ns")
    # The second call meets one node of three that has not begun.
    assert summary(trace, *columns, "p90_queue_depth", "empty_queue_share") == (
        4,
        2,
        15,
        85,
        1,
        0.5,
    )


def test_a_short_kernel_is_shorter_than_its_launch(trace: Trace) -> None:
    trace.kernel(0, 9_999)
    trace.kernel(10_000, 20_000)
    assert summary(trace, "kernel_count", "short_kernel_count", "median_kernel_ns") == (
        2,
        1,
        9_999.5,
    )


def test_with_clocks_that_disagree_there_is_no_latency_and_no_queue(trace: Trace) -> None:
    trace.launch((100, 110), (50, 120))
    numbers = ("median_latency_ns", "p99_latency_ns", "median_queue_depth", "empty_queue_share")
    assert summary(trace, *numbers) == (None, None, None, None)
    assert summary(trace, "median_call_ns", "early_count", "worst_early_ns", "is_aligned") == (
        10,
        1,
        50,
        False,
    )


def test_one_that_starts_early_among_many_leaves_no_negative_queue(trace: Trace) -> None:
    trace.threshold("clock_early_share", 0.5)
    trace.launch((0, 1), (90, 95))
    trace.launch((100, 101), (99, 110))
    assert summary(trace, "p90_queue_depth", "empty_queue_share") == (0, 1)


def test_without_launch_calls(trace: Trace) -> None:
    trace.kernel(0, 10)
    columns = ("activity_count", "launched_count", "launch_count", "median_latency_ns")
    assert summary(trace, *columns, "empty_queue_share", "is_aligned") == (
        1,
        0,
        0,
        None,
        None,
        None,
    )


def test_copies_alone_are_no_kernels(trace: Trace) -> None:
    trace.launch((0, 1), (10, 20), make=trace.copy)
    columns = ("kernel_count", "short_kernel_share", "median_kernel_ns", "launched_count")
    assert summary(trace, *columns) == (0, None, None, 1)


def test_launches_of_all_threads_of_a_process_share_the_queue(trace: Trace) -> None:
    trace.launch((0, 1), (50, 60), thread=1)
    trace.launch((10, 11), (70, 80), thread=2)
    trace.launch((20, 21), (5, 9), process=2, thread=3)
    assert trace.ask("SELECT process, p90_queue_depth FROM launch_summary") == [(1, 1), (2, None)]
