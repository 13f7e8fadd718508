from typing import Any

from pytest import approx
from rows import Trace

GB, S = 10**9, 10**9


def memory(trace: Trace, used: list[Any], **more: Any) -> dict[str, Any]:
    trace.rounds(fb_used_bytes=used, **more)
    return trace.only("FROM memory_headroom")


def test_peak_and_headroom(trace: Trace) -> None:
    row = memory(trace, [60 * GB, 75 * GB, 60 * GB], fb_total_bytes=80 * GB)
    assert (row["peak_used_bytes"], row["headroom_bytes"]) == (75 * GB, 5 * GB)
    assert (row["headroom_share"], row["is_too_full"]) == (0.0625, True)
    assert row["is_growing"] is None and row["reason"].startswith("too few samples")


def test_a_leak(trace: Trace) -> None:
    used = [(40 + 0.1 * at) * GB for at in range(101)]
    row = memory(trace, used, fb_total_bytes=80 * GB)
    assert row["is_growing"] is True
    assert row["growth_bytes_per_s"] == approx(0.1 * GB)
    assert row["full_after_ns"] == approx(300 * S)


def test_an_allocator_that_fills_up_is_no_leak(trace: Trace) -> None:
    used = [min(70, 20 + 10 * at) * GB for at in range(100)]
    row = memory(trace, used, fb_total_bytes=80 * GB)
    assert (row["is_growing"], row["growth_bytes_per_s"], row["full_after_ns"]) == (False, 0, None)


def test_a_leak_in_steps(trace: Trace) -> None:
    used = [(40 + 2 * (at // 20)) * GB for at in range(100)]
    row = memory(trace, used, fb_total_bytes=80 * GB)
    assert (row["is_growing"], row["peak_used_bytes"]) == (True, 48 * GB)


def test_steps_that_come_to_an_end_are_no_leak(trace: Trace) -> None:
    used = [(40 + 2 * min(at // 15, 3)) * GB for at in range(100)]
    assert memory(trace, used, fb_total_bytes=80 * GB)["is_growing"] is False


def test_up_and_down_is_no_leak(trace: Trace) -> None:
    used = [(40 + 10 * (at % 2)) * GB for at in range(100)]
    assert memory(trace, used, fb_total_bytes=80 * GB)["is_growing"] is False


def test_used_and_free_make_the_total(trace: Trace) -> None:
    assert memory(trace, [60 * GB], fb_free_bytes=20 * GB)["total_bytes"] == 80 * GB


def test_an_unknown_total_has_no_share(trace: Trace) -> None:
    row = memory(trace, [60 * GB])
    assert row["peak_used_bytes"] == 60 * GB
    assert row["total_bytes"] is row["headroom_share"] is row["is_too_full"] is None


def test_a_leak_of_memory_whose_size_is_not_sampled(trace: Trace) -> None:
    row = memory(trace, [(40 + 0.1 * at) * GB for at in range(101)])
    assert (row["total_bytes"], row["peak_share"], row["is_growing"]) == (None, None, True)
