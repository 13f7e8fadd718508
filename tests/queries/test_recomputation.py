"""Kernels of 10 ns, a kind a name, in one step of 1000 after another."""

from typing import Any

import pytest
from rows import Trace

F = ("norm", "gemm_a", "softmax", "gemm_b")  # a layer's forward pass
LAYER = ("norm", "gemm_a", "flash_fwd", "gemm_b")
B = ("grad_x", "grad_y", "gemm_a")  # a gemm of the same shape in the backward pass


def play(
    trace: Trace, forward: list[str], backward: list[str], told: str = "range", **more: Any
) -> None:
    where = trace.rank(0)
    for step in range(2):
        begin = 1000 * step
        trace.step(where, begin, begin + 1000, f"step {step}")
        middle = begin + 10 * len(forward)
        if told == "range":
            trace.step(where, middle, middle + 10 * len(backward), "backward")
        for place, name in enumerate([*forward, *backward, "adam"]):
            at = begin + 10 * place
            is_backward = len(forward) <= place < len(forward) + len(backward)
            thread = 2 if told == "thread" and is_backward else 1
            trace.launch((at, at), (at, at + 10), name, thread=thread, **where, **more)
    trace.keep_for("recomputation")


def asked(trace: Trace, columns: str) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT DISTINCT {columns} FROM recomputation")


FOUND = "recomputed_count, recomputed_ns, recomputed_share, confidence, reason"


@pytest.mark.parametrize("told", ["range", "thread"])
def test_a_layer_done_again_in_the_backward_pass(trace: Trace, told: str) -> None:
    # Of two layers the second is kept, the first recomputed.
    play(trace, [*F, *F], [*B, *F, *B], told)
    assert asked(trace, FOUND) == [(4, 40, 0.5, 0.9, None)]
    assert asked(trace, "evidence, forward_sum_ns, backward_sum_ns") == [(told, 80, 100)]
    assert asked(trace, "step_share") == [(40 / 190,)]
    assert len(trace.ask("FROM recomputation")) == 2


def test_nothing_done_again(trace: Trace) -> None:
    play(trace, [*F, *F], [*B, *B])
    assert asked(trace, FOUND) == [(0, 0, 0, 0.9, None)]


def test_without_a_backward_pass_one_cannot_tell(trace: Trace) -> None:
    play(trace, [*F, *F], [*B, *F, *B], told="")
    why = "no range, thread or kernel name tells where the backward pass begins"
    assert asked(trace, FOUND) == [(None, None, None, 0, why)]


def test_names_alone_tell_with_less_confidence(trace: Trace) -> None:
    play(trace, [*F, "flash_fwd"], ["flash_bwd", *F, "flash_fwd", "last_bwd"], told="")
    assert asked(trace, FOUND) == [(5, 50, 1, 0.5, None)]


def test_without_a_loss_between_names_still_tell_the_first_layer_done_again(trace: Trace) -> None:
    # Both layers are done again, the second directly behind the forward pass.
    again = [*LAYER, "flash_bwd"]
    play(trace, [*LAYER, *LAYER], [*again, *again], told="")
    assert asked(trace, FOUND) == [(8, 80, 1, 0.5, None)]


def test_a_kept_layer_before_the_backward_pass_is_not_done_again(trace: Trace) -> None:
    play(trace, [*LAYER, *LAYER], ["flash_bwd", *LAYER, "flash_bwd"], told="")
    assert asked(trace, FOUND) == [(4, 40, 0.5, 0.5, None)]


def test_repeats_that_may_be_another_micro_batch(trace: Trace) -> None:
    play(trace, [*F], ["flash_bwd", *F, "last_bwd"], told="")
    why = "what is repeated may be another micro-batch: no range and no forward name"
    assert asked(trace, FOUND) == [(None, None, None, 0, why)]


def test_micro_batches_are_not_taken_for_it(trace: Trace) -> None:
    batch = [*F, "flash_fwd"], ["flash_bwd", *B, "last_bwd"]
    play(trace, batch[0], [*batch[1], *batch[0], *batch[1]], told="")
    why = "passes of several micro-batches alternate, and no range tells them apart"
    assert asked(trace, FOUND) == [(None, None, None, 0, why)]


def test_one_kernel_many_times_is_no_sequence(trace: Trace) -> None:
    play(trace, ["add"] * 4, ["grad", *["add"] * 4])
    assert asked(trace, FOUND) == [(0, 0, 0, 0.9, None)]


def test_another_grid_is_other_work(trace: Trace) -> None:
    where = trace.rank(0)
    for step in range(2):
        begin = 1000 * step
        trace.step(where, begin, begin + 1000, f"step {step}")
        trace.step(where, begin + 40, begin + 80, "backward")
        for place, name in enumerate([*F, *F]):
            at = begin + 10 * place
            trace.launch((at, at), (at, at + 10), name, grid_x=place // 4, **where)
    trace.keep_for("recomputation")
    assert asked(trace, "recomputed_ns") == [(0,)]


def test_steps_found_by_their_period_say_so(trace: Trace) -> None:
    where = trace.rank(0)
    names = [f"kernel_{number}" for number in range(20)]
    for place, name in enumerate(names * 6):
        trace.launched(where, 20 * place, 20 * place + 10, name)
    trace.keep_for("recomputation")
    why = "steps were found by the period of kernels: what each launched is unknown"
    assert asked(trace, FOUND) == [(None, None, None, 0, why)]
