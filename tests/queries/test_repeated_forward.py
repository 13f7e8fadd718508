"""Kernels of 10 ns in one step, after one another, with names that tell the backward pass."""

import pytest
from rows import Row, Trace

LAYER = ["norm", "gemm", "act"]


def found(trace: Trace, *names: str) -> list[Row]:
    where = trace.rank(0)
    for step in range(2):
        begin = 1000 * step
        trace.step(where, begin, begin + 1000, f"step {step}")
        for place, name in enumerate(names):
            trace.launched(where, begin + 10 * place, begin + 10 * place + 10, name)
    trace.keep_for("repeated_forward")
    return trace.ask("SELECT from_ns, until_ns FROM repeated_forward WHERE step = 0")


def test_what_is_repeated_before_the_first_backward_kernel(trace: Trace) -> None:
    names = [*LAYER, *LAYER, "loss", *LAYER, "bwd", *LAYER, "bwd"]
    assert found(trace, *names) == [(70, 100)]


@pytest.mark.parametrize(
    "names",
    [
        [*LAYER, *LAYER, "bwd", *LAYER, "bwd"],  # the second layer is kept
        [*LAYER, *LAYER, "loss", "bwd", *LAYER, "bwd"],
        [*LAYER, *LAYER, "bwd", "bwd"],  # nothing is done again
        ["gemm", "act", "gemm", "act", "gemm", "act", "bwd", "gemm", "act", "bwd"],  # too short
    ],
)
def test_what_is_not(trace: Trace, names: list[str]) -> None:
    assert found(trace, *names) == []
