from typing import Any

import pytest
from rows import Trace

FORWARD, BACKWARD = "flash::flash_fwd_kernel", "flash::flash_bwd_kernel"


def play(trace: Trace, *names: str, steps: int = 2) -> None:
    where = trace.rank(0)
    for step in range(steps):
        begin = 1000 * step
        trace.step(where, begin, begin + 1000, f"step {step}")
        for place, name in enumerate([*names, "gemm"]):
            trace.launched(where, begin + 10 * place, begin + 10 * place + 6, name)


def counts(trace: Trace) -> list[tuple[Any, ...]]:
    return trace.ask(
        "SELECT class, forward_count, backward_count, recomputed_share, confidence"
        " FROM recomputation"
    )


@pytest.mark.parametrize(
    ("forward", "backward", "share", "confidence"),
    [(2, 2, 0, 1), (4, 2, 1, 1), (3, 2, 0.5, 0.5), (1, 2, 0, 0.5), (6, 2, 1, 0.5)],
)
def test_forward_kernels_by_backward_kernels(
    trace: Trace, forward: int, backward: int, share: float, confidence: float
) -> None:
    play(trace, *[FORWARD] * forward, *[BACKWARD] * backward)
    assert counts(trace) == [("attention", 2 * forward, 2 * backward, share, confidence)]


def test_what_it_costs(trace: Trace) -> None:
    play(trace, FORWARD, FORWARD, BACKWARD)
    row = trace.only("FROM recomputation")
    # Of 2 x 2 forward kernels of 6 ns half are done again.
    assert (row["step_count"], row["forward_sum_ns"], row["recomputed_ns"]) == (2, 24, 12)


def test_of_several_names_the_one_that_runs_most_often_counts(trace: Trace) -> None:
    # The backward pass of one attention is three kernels.
    play(trace, FORWARD, "flash::flash_bwd_dot_do_o", BACKWARD, "flash::flash_bwd_convert_dq")
    assert counts(trace) == [("attention", 2, 2, 0, 1)]


def test_each_kind_by_itself(trace: Trace) -> None:
    play(trace, FORWARD, BACKWARD, "ln_fwd_kernel", "ln_fwd_kernel", "ln_bwd_kernel")
    assert counts(trace) == [("attention", 2, 2, 0, 1), ("normalisation", 4, 2, 1, 1)]


def test_one_direction_only_tells_nothing(trace: Trace) -> None:
    play(trace, FORWARD, FORWARD, "ln_bwd_kernel")
    assert counts(trace) == []


def test_other_kinds_and_names_without_a_direction_do_not_count(trace: Trace) -> None:
    play(trace, "gemm_fwd", "gemm_bwd", "layer_norm", "rms_norm")
    assert counts(trace) == []


def test_only_steps_that_summaries_keep(trace: Trace) -> None:
    where = trace.rank(0)
    play(trace, FORWARD, BACKWARD, steps=3)
    trace.step(where, -9000, -1, "warm-up")  # not a step
    trace.launched(where, -5000, -4000, FORWARD)
    assert counts(trace) == [("attention", 3, 3, 0, 1)]
