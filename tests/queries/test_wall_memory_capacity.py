"""How full the fullest GPU is, and what that costs."""

from rows import Trace


def wall(trace: Trace, **row: object) -> tuple[object, ...]:
    trace.stand_in("memory_headroom")
    trace.stand_in("what_if")
    trace.given("run_evidence")
    if row:
        trace.given("memory_headroom", is_primary=True, device_id=3, **row)
    columns = "subject, cost_share, is_evident, reason"
    (found,) = trace.ask(f"SELECT {columns} FROM wall_memory_capacity")
    return found


def test_room_to_spare_costs_nothing(trace: Trace) -> None:
    assert wall(trace, peak_share=0.8, peak_used_bytes=64) == ("GPU 3", 0, False, None)


def test_a_full_gpu_is_a_wall(trace: Trace) -> None:
    assert wall(trace, peak_share=0.97, peak_used_bytes=78)[1:3] == (None, True)


def test_an_unknown_size(trace: Trace) -> None:
    reason = "the size of device memory is not sampled"
    assert wall(trace, peak_used_bytes=64)[1:] == (None, False, reason)


def test_nothing_sampled(trace: Trace) -> None:
    assert wall(trace) == (None, None, False, "device memory is not sampled")
