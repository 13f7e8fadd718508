from typing import Any

from rows import Trace

ASKED = "SELECT device_key, class, slower_ns FROM slower_class WHERE step = 0 ORDER BY ALL"


def job(trace: Trace, *ranks: list[tuple[int, str]], **more: Any) -> None:
    """Each rank's kernels (length, name), in a row, in each of two steps of 100."""
    for rank, works in enumerate(ranks):
        where = trace.rank(rank, source_id="one file")
        for step in (0, 1):
            at = 100 * step
            trace.step(where, at, at + 100, f"step {step}")
            for length, name in works:
                trace.launched(where, at, at + length, name, **more)
                at += length


def test_against_the_same_kernels_on_the_median_rank(trace: Trace) -> None:
    usual = [(20, "gemm"), (10, "layer_norm")]
    job(trace, usual, [(29, "gemm"), (10, "layer_norm")], usual, [(19, "gemm"), (12, "layer_norm")])
    assert trace.ask(ASKED) == [
        (1, "gemm", 0), (1, "normalisation", 0), (2, "gemm", 9), (2, "normalisation", 0),
        (3, "gemm", 0), (3, "normalisation", 0), (4, "gemm", 0), (4, "normalisation", 2),
    ]  # fmt: skip


def test_more_kernels_are_not_slower_ones(trace: Trace) -> None:
    job(trace, [(20, "gemm")], [(20, "gemm"), (60, "gemm")], [(20, "gemm")])
    assert [row[2] for row in trace.ask(ASKED)] == [0, 0, 0]
