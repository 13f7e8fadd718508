"""Busy time, overlap, gaps, windows and projections of any intervals equal what the plainest
method gives: counting nanoseconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb
import pytest
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
few = settings(max_examples=25, deadline=None)


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
        assert [share * (end - start) for share in shares] == pytest.approx(
            [len(inside & of) for of in classes]  # a quotient times its divisor may be off by a bit
        )
    assert sum(round(w[2] * (w[1] - w[0])) for w in windows) == len(busy)


@few
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 15), st.integers(1, 2)), min_size=1),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 99), st.integers(1, 2)), max_size=12),
)
def test_projection(
    empty_connection: duckdb.DuckDBPyConnection,
    ranges: list[tuple[int, int, int]],
    launches: list[tuple[int, int, int]],
) -> None:
    """Ranges (start, length, thread) and launches (call, start on the GPU, thread)."""
    with filled(empty_connection, []) as trace:
        for start, dur, thread in ranges:
            trace.range(start, start + dur, thread=thread)
        for number, (call, start, thread) in enumerate(launches):
            trace.call(call, call + 1, thread=thread, correlation_id=number)
            trace.kernel(start, start + 10, correlation_id=number)
        found = trace.ask(
            """
            SELECT start_ns, end_ns, thread, work_count, gpu_start_ns, gpu_end_ns
            FROM projected_range ORDER BY ALL
            """
        )
    expected = []
    for start, dur, thread in ranges:
        inside = [s for call, s, t in launches if t == thread and start <= call <= start + dur]
        first, last = (min(inside), max(inside) + 10) if inside else (None, None)
        expected.append((start, start + dur, thread, len(inside), first, last))
    assert found == sorted(expected)
