from typing import Any

from rows import Trace

S = 10**9


def job(trace: Trace, *lengths: int) -> None:
    for rank, length in enumerate(lengths):
        where = trace.rank(rank)
        for start in range(0, 1_000, 200):
            trace.kernel(start, start + length, "gemm", **where)
            trace.kernel(start + 100, start + 100 + 5 * (rank + 1), "ncclAllReduce", **where)


def asked(trace: Trace, columns: str) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {columns} FROM kernel_pace")


def clocks(trace: Trace, *hz: float) -> None:
    for rank, clock in enumerate(hz):
        gpu_id = f"gpu {rank + 1}.0"
        rounds = {"sm_clock_hz": [clock] * 3, "gpu_util_share": 1, "clock_event_reasons": 0}
        trace.rounds(gpu_id=gpu_id, source_id="t", **rounds)
    # The captures name no UUID; their made-up ids stand for one.
    trace.connection.execute("UPDATE device SET uuid = gpu_id")
    for rank in range(len(hz)):
        gpu_id = f"gpu {rank + 1}.0"
        trace.insert("device", source_id="t", gpu_id=gpu_id, uuid=gpu_id)


def test_the_same_kernels_take_longer_on_one(trace: Trace) -> None:
    job(trace, 50, 50, 60, 50)
    assert asked(trace, "rank, pace_ratio, is_slow, slowest_kernel, explanation") == [
        (0, 1.0, False, None, None),
        (1, 1.0, False, None, None),
        (2, 1.2, True, "gemm", "clock not sampled"),
        (3, 1.0, False, None, None),
    ]


def test_slow_at_the_same_clock(trace: Trace) -> None:
    job(trace, 50, 50, 60, 50)
    clocks(trace, 2e9, 2e9, 2e9, 2e9)
    assert asked(trace, "explanation")[2] == ("same clock without a reason",)


def test_slow_at_a_lower_clock(trace: Trace) -> None:
    job(trace, 50, 50, 60, 50)
    clocks(trace, 2e9, 2e9, 1.5e9, 2e9)
    # Below its peers without a reason: that is a slowdown too.
    assert asked(trace, "explanation, throttled_share")[2] == ("throttled", 1)


def test_two_devices_do_not_tell_which_is_slow(trace: Trace) -> None:
    job(trace, 50, 60)
    assert asked(trace, "rank") == []
