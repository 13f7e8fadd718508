"""Busy time, overlap, gaps and windows of any intervals equal what counting nanoseconds gives."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import Trace

# (kind, start_ns, dur_ns): few places and short lengths, so that they often touch and nest.
Work = list[tuple[str, int, int]]
KINDS = ("gemm", "nccl", "graph", "copy", "set")
WORK = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(-5, 40), st.integers(0, 12)),
    min_size=1,
    max_size=9,
)
few = settings(max_examples=60, deadline=None)


@contextmanager
def filled(connection: duckdb.DuckDBPyConnection, work: Work) -> Iterator[Trace]:
    connection.begin()
    try:
        trace = Trace(connection)
        make: dict[str, Callable[..., None]] = {
            "graph": trace.graph,
            "copy": trace.copy,
            "set": trace.set,
        }
        for kind, start_ns, dur_ns in work:
            if kind in make:
                make[kind](start_ns, start_ns + dur_ns)
            else:
                trace.kernel(start_ns, start_ns + dur_ns, kind)
        yield trace
    finally:
        connection.rollback()


def covered(work: Work, *kinds: str) -> set[int]:
    """Every nanosecond in which anything of these kinds ran."""
    return {ns for kind, start, dur in work if kind in kinds for ns in range(start, start + dur)}


def summed(work: Work, *kinds: str) -> int:
    return sum(dur for kind, _, dur in work if kind in kinds)


@few
@given(WORK)
def test_time_share(empty_connection: duckdb.DuckDBPyConnection, work: Work) -> None:
    compute, communication = covered(work, "gemm", "graph"), covered(work, "nccl")
    busy, executing = covered(work, *KINDS), compute | communication
    span_ns = max(s + d for _, s, d in work) - min(s for _, s, _ in work)
    with filled(empty_connection, work) as trace:
        row = trace.only("FROM nccl_time_share")
    assert row["span_ns"] == span_ns
    assert row["busy_ns"] == len(busy)
    assert row["idle_ns"] == span_ns - len(busy)
    assert row["compute_ns"] == len(compute)
    assert row["communication_ns"] == len(communication)
    assert row["overlap_ns"] == len(compute & communication)
    assert row["exposed_communication_ns"] == len(communication - compute)
    assert row["exposed_memory_ns"] == len(busy - executing)
    assert row["kernel_busy_ns"] == len(covered(work, "gemm", "nccl"))
    assert row["graph_ns"] == len(covered(work, "graph"))
    assert row["kernel_sum_ns"] == summed(work, "gemm", "nccl")
    assert row["nccl_sum_ns"] == summed(work, "nccl")
    parts = ("compute_ns", "exposed_communication_ns", "exposed_memory_ns", "idle_ns")
    assert sum(row[part] for part in parts) == span_ns
    assert row["kernel_busy_ns"] <= row["kernel_sum_ns"]


@few
@given(WORK, st.integers(-(10**15), 10**15))
def test_shifted_in_time_it_is_the_same(
    empty_connection: duckdb.DuckDBPyConnection, work: Work, shift: int
) -> None:
    shifted = [(kind, start + shift, dur) for kind, start, dur in work]
    with filled(empty_connection, work) as trace:
        before = trace.only("FROM nccl_time_share"), trace.only("FROM kernel_gap_summary")
    with filled(empty_connection, shifted) as trace:
        after = trace.only("FROM nccl_time_share"), trace.only("FROM kernel_gap_summary")
    assert before == after


@few
@given(WORK)
def test_gaps(empty_connection: duckdb.DuckDBPyConnection, work: Work) -> None:
    with filled(empty_connection, work) as trace:
        trace.threshold("kernel_gap_ns", 0)
        gaps = trace.ask("SELECT start_ns, end_ns FROM kernel_gap ORDER BY start_ns")
        share = trace.only("SELECT span_ns, busy_ns FROM nccl_time_share")
        summary = trace.only("SELECT gap_count, idle_count, idle_ns FROM kernel_gap_summary")
    idle = [ns for start, end in gaps for ns in range(start, end)]
    first, last = min(s for _, s, _ in work), max(s + d for _, s, d in work)
    assert idle == sorted(set(range(first, last)) - covered(work, *KINDS))
    assert len(idle) + share["busy_ns"] == share["span_ns"]
    assert summary == {
        "gap_count": len(gaps),
        "idle_count": len(gaps),
        "idle_ns": len(idle),
    }


@few
@given(WORK, st.integers(1, 30))
def test_windows(empty_connection: duckdb.DuckDBPyConnection, work: Work, count: int) -> None:
    with filled(empty_connection, work) as trace:
        trace.threshold("activity_window_count", count)
        windows = trace.ask(
            """
            SELECT
                start_ns, end_ns, busy_share, compute_share, communication_share,
                exposed_communication_share, exposed_memory_share
            FROM gpu_activity
            """
        )
    compute, communication = covered(work, "gemm", "graph"), covered(work, "nccl")
    busy = covered(work, *KINDS)
    classes = (
        busy,
        compute,
        communication,
        communication - compute,
        busy - compute - communication,
    )
    assert len(windows) <= count
    for start, end, *shares in windows:
        inside = set(range(start, end))
        assert [share * (end - start) for share in shares] == [
            # a share times its width is off by rounding at most
            _near(len(inside & of)) for of in classes
        ]
    assert sum(round(w[2] * (w[1] - w[0])) for w in windows) == len(busy)


def _near(value: float) -> object:
    import pytest

    return pytest.approx(value, abs=1e-9)
