"""Steps of 1000 ns; in each a gemm, or several, in some of them beside communication."""

from typing import Any

import pytest
from rows import Trace

NCCL = "ncclAllReduce"
GRID = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 32, "block_y": 1, "block_z": 1}
NOWHERE = "no place of the step is beside communication in some steps, alone in others"

Span = tuple[int, int]


def play(trace: Trace, *steps: list[Span], beside: dict[int, Span], **more: Any) -> None:
    """Each step's kernels, and the steps' communication, in ns of the step."""
    where = trace.rank(0)
    for step, spans in enumerate(steps):
        begin = 1000 * step
        trace.step(where, begin, begin + 1000, f"step {step}")
        for start_ns, end_ns in spans:
            trace.launched(where, begin + start_ns, begin + end_ns, **{**GRID, **more})
        trace.launched(where, begin + 990, begin + 1000, "adam")
        if step in beside:
            start_ns, end_ns = beside[step]
            span = begin + start_ns, begin + end_ns
            trace.launched(where, *span, NCCL, stream_id=20)
    trace.keep_for("communication_overlap")


def slowdown(trace: Trace) -> tuple[Any, ...]:
    sql = "SELECT beside_count, beside_ns, alone_ns, slowdown, reason FROM communication_overlap"
    (row,) = trace.ask(sql)
    return row


def test_communication_on_a_stream_that_also_computes(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.kernel(20, 50, NCCL)
    trace.kernel(60, 70, NCCL, stream_id=20)
    row = trace.only("FROM communication_overlap")
    assert (row["nccl_count"], row["nccl_sum_ns"]) == (2, 40)
    assert (row["shared_stream_count"], row["shared_stream_share"]) == (1, 0.75)
    assert row["structure"] == (
        "1 of 2 communication kernels run on a stream that computes: these cannot overlap"
        " that compute"
    )


@pytest.mark.parametrize(
    ("stream_id", "says"),
    [
        (7, "communication runs on a stream that computes: it cannot overlap that compute"),
        (20, "communication has streams of its own: it can overlap compute"),
    ],
)
def test_what_streams_mean_for_overlap(trace: Trace, stream_id: int, says: str) -> None:
    trace.kernel(0, 10)
    trace.kernel(20, 50, NCCL, stream_id=stream_id)
    assert trace.ask("SELECT structure FROM communication_overlap") == [(says,)]


def test_the_same_place_beside_communication_and_alone(trace: Trace) -> None:
    alone, slow = [(10, 20)], [(10, 25)]
    play(trace, alone, slow, alone, slow, beside={1: (0, 500), 3: (0, 500)})
    assert slowdown(trace) == (2, 30, 20, 1.5, None)


def test_the_same_kernel_for_other_work_is_not_slower(trace: Trace) -> None:
    # The second of each step does more, and is beside communication in every step.
    play(trace, *[[(10, 20), (40, 60)]] * 4, beside={step: (30, 500) for step in range(4)})
    assert slowdown(trace) == (0, 0, None, None, NOWHERE)


def test_other_work_at_another_place_does_not_count(trace: Trace) -> None:
    # In the last step the second one has nothing beside it: then both are compared.
    works = [[(10, 20), (40, 60)]] * 4
    play(trace, *works, beside={1: (30, 500), 2: (30, 500)})
    assert slowdown(trace) == (2, 40, 40, 1, None)


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "is_beside"),
    [(40, 50, False), (40, 51, True), (95, 110, True), (100, 110, False), (40, 120, True)],
)
def test_what_is_beside(trace: Trace, start_ns: int, end_ns: int, is_beside: bool) -> None:
    alone = [(200, 210)]
    play(trace, alone, [(start_ns, end_ns)], alone, beside={1: (50, 100)})
    assert slowdown(trace)[0] == int(is_beside)


def test_a_step_with_another_number_of_them_is_left_out(trace: Trace) -> None:
    alone = [(10, 20)]
    play(trace, alone, [(10, 25), (30, 45)], alone, beside={1: (0, 500)})
    assert slowdown(trace) == (0, 0, None, None, NOWHERE)


def test_without_steps_nothing_says_what_is_the_same(trace: Trace) -> None:
    for start_ns in (10, 200, 300, 400):
        trace.kernel(start_ns, start_ns + 10, **GRID)
    trace.kernel(0, 100, NCCL, stream_id=20)
    why = "no steps: nothing says which kernels do the same work"
    assert slowdown(trace) == (0, 0, None, None, why)


def test_each_device_by_itself_and_none_without_communication(trace: Trace) -> None:
    play(trace, [(10, 20)], [(10, 20)], beside={0: (0, 50)})
    trace.kernel(0, 10, process=2)
    assert len(trace.ask("FROM communication_overlap")) == 1
