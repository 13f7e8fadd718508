"""Collectives of any ranks, clocks and counts, against the plainest method: on true clocks, one
collective after the other."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from statistics import median
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import Trace

few = settings(max_examples=25, deadline=None)
US = 1_000
OPERATIONS = ("ncclAllReduce", "ncclAllGather")

# A collective: its operation, how late each of up to five ranks comes, how long the transfer
# takes, how much later than the first each leaves.
Arrivals = list[int]
COLLECTIVE = st.tuples(
    st.sampled_from(OPERATIONS),
    st.lists(st.integers(0, 900), min_size=5, max_size=5),
    st.integers(1, 500),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
Job = list[tuple[str, Arrivals, int, Arrivals]]
JOB = st.lists(COLLECTIVE, min_size=1, max_size=12)
RANKS = st.integers(2, 5)


def spans(job: Job, ranks: int) -> list[list[tuple[int, int]]]:
    """By collective and rank, start and end on true clocks."""
    found = []
    for k, (_, late, transfer, tails) in enumerate(job):
        zero = 10_000 * US * (k + 1)
        starts = [zero + US * late[rank] for rank in range(ranks)]
        # Nobody leaves before the last has come, and one of them is the first to leave.
        first = min(tails[:ranks])
        ends = [max(starts) + US * transfer + tails[rank] - first for rank in range(ranks)]
        found.append(list(zip(starts, ends, strict=True)))
    return found


@contextmanager
def filled(
    connection: duckdb.DuckDBPyConnection,
    job: Job,
    ranks: int,
    shift: list[int],
    drift: list[float] | None = None,
    order: Random | None = None,
) -> Iterator[Trace]:
    """Each rank in a file of its own, whose clock is wrong by ``shift`` and ``drift``."""
    rows = [
        (rank, start, end, name)
        for (name, *_), instance in zip(job, spans(job, ranks), strict=True)
        for rank, (start, end) in enumerate(instance)
    ]
    if order:
        order.shuffle(rows)
    connection.begin()
    try:
        trace = Trace(connection)
        for rank in range(ranks):
            trace.rank(rank)
        for rank, start, end, name in rows:
            error = shift[rank] + round((drift or [0] * ranks)[rank] * start)
            trace.kernel(start + error, end + error, name, **trace.rank(rank))
        yield trace
    finally:
        connection.rollback()


COLUMNS = "operation, instance, rank, dur_ns, wait_ns, transfer_ns, tail_ns, is_last"


def split(trace: Trace) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {COLUMNS} FROM collective ORDER BY instance, rank")


def expected(job: Job, ranks: int) -> list[tuple[Any, ...]]:
    names = {"ncclAllReduce": "all_reduce", "ncclAllGather": "all_gather"}
    rows = []
    for number, ((name, *_), instance) in enumerate(zip(job, spans(job, ranks), strict=True), 1):
        last_start = max(start for start, _ in instance)
        first_end = min(end for _, end in instance)
        last = [start for start, _ in instance].index(last_start)
        for rank, (start, end) in enumerate(instance):
            parts = last_start - start, first_end - last_start, end - first_end
            rows.append((names[name], number, rank, end - start, *parts, rank == last))
    return rows


@few
@given(JOB, RANKS)
def test_on_one_clock_it_is_exact(
    empty_connection: duckdb.DuckDBPyConnection, job: Job, ranks: int
) -> None:
    connection = empty_connection
    connection.begin()
    try:
        trace = Trace(connection)
        for (name, *_), instance in zip(job, spans(job, ranks), strict=True):
            for rank, (start, end) in enumerate(instance):
                trace.kernel(start, end, name, **trace.rank(rank, source_id="one file"))
        assert split(trace) == expected(job, ranks)
    finally:
        connection.rollback()


@few
@given(
    JOB,
    RANKS,
    st.lists(st.integers(-50_000 * US, 50_000 * US), min_size=5, max_size=5),
    st.lists(st.floats(-30e-6, 30e-6), min_size=5, max_size=5),
)
def test_on_wrong_clocks_it_is_right_within_the_tails(
    empty_connection: duckdb.DuckDBPyConnection,
    job: Job,
    ranks: int,
    shift: list[int],
    drift: list[float],
) -> None:
    with filled(empty_connection, job, ranks, shift, drift) as trace:
        found = split(trace)
        ((worst, known),) = trace.ask(
            "SELECT max(abs(residual_ns)), count(residual_ns) FROM collective_match"
        )
    # Fewer than 9 of an operation have no line through them: their drift is left.
    span_ns = 10_000 * US * len(job)
    allowed = 2 * (3 + span_ns * 60e-6)
    assert all(row[3] == sum(row[4:7]) for row in found)
    assert all(part >= 0 for row in found for part in row[4:7])
    for row, true in zip(found, expected(job, ranks), strict=True):
        assert row[:3] == true[:3]
        assert row[4] == pytest.approx(true[4], abs=allowed)
    if known:
        assert worst <= allowed
    # One rank of each is last.
    assert set(Counter(row[1] for row in found if row[7]).values()) == {1}


@few
@given(JOB, RANKS, st.integers(-(10**12), 10**12), st.integers(0, 99))
def test_neither_a_shift_of_a_clock_nor_the_order_of_rows_matters(
    empty_connection: duckdb.DuckDBPyConnection, job: Job, ranks: int, shift: int, seed: int
) -> None:
    still, moved = [0] * ranks, [shift] + [0] * (ranks - 1)
    with filled(empty_connection, job, ranks, still) as trace:
        before = split(trace)
    with filled(empty_connection, job, ranks, moved, order=Random(seed)) as trace:
        after = split(trace)
    # Medians are rounded to whole nanoseconds.
    for one, other in zip(before, after, strict=True):
        assert one[:4] == other[:4]
        assert one[4:7] == pytest.approx(other[4:7], abs=2)


@few
@given(JOB, RANKS)
def test_waits_of_ranks_sum_to_those_of_collectives(
    empty_connection: duckdb.DuckDBPyConnection, job: Job, ranks: int
) -> None:
    with filled(empty_connection, job, ranks, [0] * ranks) as trace:
        rows = trace.ask(
            "SELECT sum(wait_ns), sum(caused_wait_ns), sum(last_arrival_count) FROM collective_wait"
        )
        late = trace.ask("SELECT list(late_ns) FROM collective GROUP BY instance")
    ((waited, caused, last),) = rows
    assert waited == caused
    assert last == len(job)
    assert all(abs(median(each)) <= 1 for (each,) in late)
