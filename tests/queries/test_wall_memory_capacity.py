"""The fullest GPU and the allocator's stalls in, the wall of memory out."""

from rows import Trace

SQL = "SELECT subject, cost_share, bound_share, is_evident, need FROM wall_memory_capacity"
ALLOCATOR = "no idle time: memory_management"


def given(trace: Trace, *peaks: float) -> None:
    trace.stand_in("memory_headroom")
    trace.given("run_evidence", step_count=2, traced_count=4)
    trace.given("what_if", scenario=ALLOCATOR, saved_ns=30.0, saved_share=0.03)
    for place, peak_share in enumerate(peaks):
        row = {"host": "node", "device_id": place, "gpu_id": "g", "is_primary": True}
        trace.given("memory_headroom", peak_share=peak_share, **row)


def test_a_full_memory_is_a_wall_whatever_it_costs(trace: Trace) -> None:
    given(trace, 0.5, 0.97)
    assert trace.ask(SQL) == [("node GPU 1", 0.03, None, True, None)]


def test_room_to_spare_is_none(trace: Trace) -> None:
    given(trace, 0.5, 0.94)
    assert trace.ask(SQL) == [("node GPU 1", 0.0, None, False, None)]


def test_without_samples_only_the_allocator_tells(trace: Trace) -> None:
    given(trace)
    assert trace.ask(SQL) == [(None, None, 0.03, False, "dcgm")]
