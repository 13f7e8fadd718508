"""Steps and causes of gaps in any small trace equal what the plainest method gives: asking of
each moment what went on."""

import random
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import Trace

# A moment is longer than half a millisecond, so that gaps and calls lie in several of the
# slices in which gap_part finds them, and often begin in one that they do not share.
MOMENT_NS = 700_000
STEP, STEP_HELD = 30, 25  # a step begins every 30 moments and is open for 25
few = settings(max_examples=25, deadline=None)
fewer = settings(max_examples=12, deadline=None)


@dataclass(frozen=True)
class Interval:
    start: int
    end: int
    name: str
    thread: int = 1

    def holds(self, moment: int) -> bool:
        return self.start <= moment < self.end


@dataclass(frozen=True)
class Work(Interval):
    """An activity; ``call`` is None where no launch call was recorded."""

    stream: int = 7
    number: int = 0
    call: Interval | None = None


@dataclass(frozen=True)
class Made:
    """Everything in a trace, in moments."""

    work: tuple[Work, ...]
    calls: tuple[Interval, ...]
    ranges: tuple[Interval, ...]
    overheads: tuple[Interval, ...]
    threshold: int

    @property
    def busy(self) -> set[int]:
        return moments(self.work)

    @property
    def idle(self) -> set[int]:
        whole = range(min(w.start for w in self.work), max(w.end for w in self.work))
        return set(whole) - self.busy


def moments(work: Any) -> set[int]:
    return {moment for one in work for moment in range(one.start, one.end)}


CALLS = ("cudaStreamSynchronize", "cudaMalloc", "cudaEventRecord", "cudaLaunchKernel")
CAUSE_OF_CALL = dict(zip(CALLS, ("synchronize", "memory_management"), strict=False))
CAUSE_OF_RANGE = {"dataloader": "data_loading", "gc.collect": "garbage_collection"}
KINDS = ("gemm", "ncclAllReduce", "graph", "copy", "set")


@st.composite
def intervals(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[Interval, ...]:
    """They may nest and cross, but no two of a thread begin at once."""
    one = st.tuples(
        st.integers(-10, 90), st.integers(1, 30), st.sampled_from(names), st.sampled_from((1, 2))
    )
    drawn = draw(st.lists(one, max_size=6, unique_by=lambda i: (i[0], i[3])))
    return tuple(Interval(start, start + dur, name, thread) for start, dur, name, thread in drawn)


@st.composite
def traces(draw: st.DrawFn) -> Made:
    launches = draw(
        st.lists(
            st.tuples(
                st.sampled_from(KINDS),
                st.integers(-5, 85),  # begin of the launch call
                st.integers(1, 6),  # its length
                st.integers(0, 25),  # latency
                st.integers(1, 12),  # length of the work
                st.sampled_from((1, 2)),  # thread
                st.sampled_from((7, 8)),  # stream
                st.sampled_from((True, True, True, False)),  # whether the call is recorded
            ),
            min_size=1,
            max_size=9,
            unique_by=lambda launch: (launch[1], launch[5]),
        )
    )
    work, own = [], []
    for number, (kind, at, length, latency, dur, thread, stream, is_recorded) in enumerate(
        launches
    ):
        call = Interval(at, at + length, "cudaLaunchKernel", thread) if is_recorded else None
        start = at + latency
        work.append(Work(start, start + dur, kind, thread, stream, number, call))
        own += [call] if call else []
    taken = {(call.start, call.thread) for call in own}
    others = [c for c in draw(intervals(CALLS)) if (c.start, c.thread) not in taken]
    return Made(
        tuple(work),
        (*own, *others),
        draw(intervals((*CAUSE_OF_RANGE, "forward"))),
        draw(intervals(("Buffer flush",))),
        draw(st.sampled_from((0, 1, 4))),
    )


@contextmanager
def filled(
    connection: duckdb.DuckDBPyConnection, made: Made, shift_ns: int = 0, shuffle: int = 0
) -> Iterator[Trace]:
    trace = Trace(connection)

    def ns(interval: Interval) -> tuple[int, int]:
        return interval.start * MOMENT_NS + shift_ns, interval.end * MOMENT_NS + shift_ns

    def insert_work(work: Work) -> None:
        more = {"stream_id": work.stream, "correlation_id": work.number}
        makes = {"graph": trace.graph, "copy": trace.copy, "set": trace.set}
        if work.name in makes:
            makes[work.name](*ns(work), **more)
        else:
            trace.kernel(*ns(work), work.name, **more)

    def insert_call(call: Interval) -> None:
        number = next((w.number for w in made.work if w.call is call), None)
        trace.call(*ns(call), call.name, thread=call.thread, correlation_id=number)

    steps = [Interval(STEP * k, STEP * k + STEP_HELD, f"step {k}") for k in range(3)]
    rows = [(insert_work, work) for work in made.work]
    rows += [(insert_call, call) for call in made.calls]
    rows += [
        (lambda one: trace.range(*ns(one), one.name, thread=one.thread), one)
        for one in (*steps, *made.ranges)
    ]
    rows += [
        (lambda one: trace.overhead(*ns(one), thread=one.thread), one) for one in made.overheads
    ]
    random.Random(shuffle).shuffle(rows)
    connection.begin()
    try:
        trace.device()
        trace.threshold("kernel_gap_ns", made.threshold * MOMENT_NS)
        for insert, row in rows:
            insert(row)
        yield trace
    finally:
        connection.rollback()


# -- gaps ----------------------------------------------------------------------------------

KIND = {"graph": "graph_launch", "copy": "memory_copy", "set": "memory_set"}


def gaps(made: Made) -> dict[tuple[int, int], Work]:
    """Each idle interval, and the activity that ends it."""
    ends = sorted({work.end for work in made.work})
    found = {}
    for start in ends:
        if start in made.idle:
            end = min(w.start for w in made.work if w.start > start)
            found[start, end] = min(
                (work for work in made.work if work.start == end),
                key=lambda w: (
                    w.end,
                    KIND.get(w.name, "kernel"),
                    zlib.crc32(w.name.encode()),
                    w.stream,
                    w.number,
                ),
            )
    return found


def cause(made: Made, after: Work, gap_start: int, moment: int) -> str:
    own = after.call
    if own is None:
        return "unknown"
    if moment >= max(own.end, gap_start):
        return "dependency"

    def here(intervals: tuple[Interval, ...]) -> list[Interval]:
        return [i for i in intervals if i.thread == own.thread and i.holds(moment)]

    if here(made.overheads):
        return "profiler"
    if calls := here(made.calls):
        outer = min(calls, key=lambda call: (call.start, -call.end))
        if outer.start <= own.start and own.end <= outer.end:
            return "launch_call"
        return CAUSE_OF_CALL.get(outer.name, "other_host")
    if ranges := [one for one in here(made.ranges) if one.name in CAUSE_OF_RANGE]:
        return CAUSE_OF_RANGE[max(ranges, key=lambda one: (one.start, -one.end)).name]
    return "other_host"


PARTS = """
    SELECT gap_start_ns, gap_end_ns, start_ns, end_ns, cause FROM gap_part ORDER BY ALL
"""


@few
@given(traces())
def test_every_moment_of_a_gap_has_its_cause(
    empty_connection: duckdb.DuckDBPyConnection, made: Made
) -> None:
    with filled(empty_connection, made) as trace:
        parts = trace.ask(PARTS)
        totals = trace.ask("SELECT cause, sum(total_ns) FROM kernel_gap_cause GROUP BY cause")
    found: dict[tuple[int, int], list[str]] = {}
    for gap_start, gap_end, start, end, name in parts:
        causes = found.setdefault((gap_start // MOMENT_NS, gap_end // MOMENT_NS), [])
        # They follow each other without a hole, and none is empty.
        assert start == gap_start + len(causes) * MOMENT_NS
        assert start < end <= gap_end
        causes += [name] * ((end - start) // MOMENT_NS)
    assert found == {
        (start, end): [cause(made, after, start, moment) for moment in range(start, end)]
        for (start, end), after in gaps(made).items()
        if end - start >= made.threshold
    }
    expected = Counter(name for causes in found.values() for name in causes)
    short = len(made.idle) - expected.total()
    expected += Counter({"short_gap": short})
    assert {name: total // MOMENT_NS for name, total in totals} == dict(expected)


# -- steps ---------------------------------------------------------------------------------


def tiles(made: Made) -> dict[int, tuple[int, int]]:
    """Begin and end of each step on the device."""
    inside: dict[int, list[Work]] = {}
    for work in made.work:
        if work.call and 0 <= work.call.start < 3 * STEP and work.call.start % STEP < STEP_HELD:
            inside.setdefault(work.call.start // STEP, []).append(work)
    starts = sorted((min(w.start for w in works), step) for step, works in inside.items())
    found: dict[int, tuple[int, int]] = {}
    begin = None
    for place, (start, step) in enumerate(starts):
        end = max(work.end for work in inside[step])
        if place + 1 < len(starts):
            end = min(end, starts[place + 1][0])
        found[step] = (start if begin is None else begin), end
        begin = end
    return found


def split(made: Made, begin: int, end: int) -> dict[str, int]:
    window = set(range(begin, end))

    def within(*names: str) -> set[int]:
        return window & moments(work for work in made.work if work.name in names)

    def summed(*names: str) -> int:
        return sum(
            max(0, min(work.end, end) - max(work.start, begin))
            for work in made.work
            if work.name in names
        )

    compute, communication = within("gemm", "graph"), within("ncclAllReduce")
    idle = sorted(window - within(*KINDS))
    runs: list[int] = []
    for place, moment in enumerate(idle):
        if place and idle[place - 1] == moment - 1:
            runs[-1] += 1
        else:
            runs.append(1)
    return {
        "step_ns": end - begin,
        "busy_ns": len(within(*KINDS)),
        "idle_ns": len(idle),
        "gap_ns": sum(run for run in runs if run >= made.threshold),
        "compute_ns": len(compute),
        "communication_ns": len(communication),
        "overlap_ns": len(compute & communication),
        "exposed_communication_ns": len(communication - compute),
        "exposed_memory_ns": len(within("copy", "set") - compute - communication),
        "kernel_sum_ns": summed("gemm", "ncclAllReduce"),
        "nccl_sum_ns": summed("ncclAllReduce"),
    }


@few
@given(traces())
def test_every_moment_of_a_step_is_in_its_split(
    empty_connection: duckdb.DuckDBPyConnection, made: Made
) -> None:
    with filled(empty_connection, made) as trace:
        cursor = trace.connection.execute("FROM step_time WHERE origin = 'nvtx'")
        columns = [column for column, *_ in cursor.description or []]
        found = {}
        for values in cursor.fetchall():
            row = dict(zip(columns, values, strict=True))
            found[row["step"]] = row
    assert set(found) == set(tiles(made))
    first = next(iter(tiles(made)), None)
    for step, (begin, end) in tiles(made).items():
        row = found[step]
        if step == first:  # it may begin earlier: with its range, behind earlier work
            assert row["begin_ns"] <= begin * MOMENT_NS
            begin = row["begin_ns"] // MOMENT_NS
        expected = split(made, begin, end)
        if row["lead_in_ns"]:
            del expected["gap_ns"]
        assert {name: row[name] for name in expected} == {
            name: value * MOMENT_NS for name, value in expected.items()
        }
        assert row["begin_ns"] == begin * MOMENT_NS
        kernels = [w.name for w in made.work if begin <= w.start < end and w.name not in KIND]
        counts = len(kernels), kernels.count("ncclAllReduce")
        assert (row["kernel_count"], row["nccl_count"]) == counts
        parts = ("compute_ns", "exposed_communication_ns", "exposed_memory_ns", "idle_ns")
        assert sum(row[part] for part in parts) == row["step_ns"]


@few
@given(traces())
def test_the_causes_of_a_step_sum_to_its_idle_time(
    empty_connection: duckdb.DuckDBPyConnection, made: Made
) -> None:
    with filled(empty_connection, made) as trace:
        causes = trace.ask(
            """
            SELECT step, sum(total_ns) FROM kernel_gap_cause
            WHERE step IS NOT NULL GROUP BY step ORDER BY step
            """
        )
        steps = trace.ask(
            """
            SELECT step, idle_ns - lead_in_ns FROM step_time
            WHERE idle_ns > lead_in_ns ORDER BY step
            """
        )
    assert causes == steps


# -- what must not matter ------------------------------------------------------------------

TIMES = ("begin_ns", "start_ns", "end_ns", "host_start_ns", "host_end_ns", "gap_start_ns")
TIMES += ("gap_end_ns",)
VIEWS = ("step_time", "kernel_gap_cause", "launch_summary", "device_step", "gap_part")


def everything(trace: Trace, shift_ns: int = 0) -> dict[str, list[Any]]:
    found = {}
    for view in VIEWS:
        columns = [column for column, *_ in trace.ask(f"DESCRIBE {view}")]
        shifted = ", ".join(f"{c} - {shift_ns} AS {c}" for c in columns if c in TIMES)
        replaced = f"* REPLACE ({shifted})" if shifted else "*"
        found[view] = trace.ask(f"SELECT {replaced} FROM {view} ORDER BY ALL")
    return found


@fewer
@given(traces(), st.integers(1, 2**32))
def test_the_order_of_rows_does_not_matter(
    empty_connection: duckdb.DuckDBPyConnection, made: Made, shuffle: int
) -> None:
    with filled(empty_connection, made) as trace:
        ordered = everything(trace)
    with filled(empty_connection, made, shuffle=shuffle) as trace:
        assert everything(trace) == ordered


@fewer
@given(traces(), st.integers(-(10**15), 10**15))
def test_shifted_in_time_it_is_the_same_but_for_the_times(
    empty_connection: duckdb.DuckDBPyConnection, made: Made, shift_ns: int
) -> None:
    with filled(empty_connection, made) as trace:
        before = everything(trace)
    with filled(empty_connection, made, shift_ns) as trace:
        assert everything(trace, shift_ns) == before
