from typing import Any

from rows import Trace

REDUCE = "ncclAllReduce"
ASKED = (
    "SELECT step, step_ns, own_ns, compute_ns, communication_ns, exposed_communication_ns,"
    " exposed_memory_ns, idle_ns FROM step_work ORDER BY device_key, step"
)


def two_steps(trace: Trace) -> dict[str, Any]:
    """Ranges on the host in [0, 100) and [100, 200)."""
    where = trace.rank(0)
    for step in (0, 1):
        trace.step(where, 100 * step, 100 * step + 100, f"step {step}")
    return where


def test_a_step_and_its_parts(trace: Trace) -> None:
    where = two_steps(trace)
    trace.launched(where, 0, 40)
    trace.launched(where, 30, 60, REDUCE, stream_id=20)
    trace.launched(where, 70, 100)
    trace.launched(where, 100, 200)
    assert trace.ask(ASKED) == [
        (0, 100, 80, 70, 30, 20, 0, 10),
        (1, 100, 100, 100, 0, 0, 0, 0),
    ]


def test_what_runs_on_into_the_next_step_counts_to_its_own(trace: Trace) -> None:
    # The collective of step 0 waits until 150; step 1 computes beside it from 110 on, and
    # what was launched in step 0 behind the collective runs last.
    where = two_steps(trace)
    trace.launched(where, 0, 80)
    trace.launched(where, 80, 150, REDUCE, stream_id=20)
    trace.launched(where, 110, 130, stream_id=9)
    trace.launched(where, 150, 160, "adam", call_ns=90)
    # Exposed are [80, 110) and [130, 150).
    assert trace.ask(ASKED) == [
        (0, 140, 90, 90, 70, 50, 0, 0),
        (1, 20, 20, 20, 0, 0, 0, 0),
    ]


def test_idle_time_belongs_to_the_step_that_it_delays(trace: Trace) -> None:
    where = two_steps(trace)
    trace.launched(where, 0, 80)
    trace.launched(where, 130, 140)
    assert [row[:3] + row[-1:] for row in trace.ask(ASKED)] == [(0, 80, 80, 0), (1, 60, 60, 50)]


def test_the_same_row_twice_counts_once(trace: Trace) -> None:
    where = two_steps(trace)
    trace.launched(where, 0, 80)
    trace.call(0, 0, correlation_id=1, **where)
    trace.launched(where, 100, 140)
    assert [row[:3] for row in trace.ask(ASKED)] == [(0, 80, 80), (1, 60, 60)]
