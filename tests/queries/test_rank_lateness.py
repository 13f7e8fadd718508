from rows import Trace

US = 1_000
REDUCE = "ncclAllReduce"


def job(trace: Trace, *own_us: int, steps: int = 4) -> None:
    """Ranks of one file that compute so long in every step; then an all-reduce of 10 us."""
    length = (max(own_us) + 10) * US
    for rank, own in enumerate(own_us):
        where = trace.rank(rank, source_id="one file")
        for step in range(steps):
            begin = step * length
            trace.step(where, begin, begin + length, f"step {step}")
            trace.launched(where, begin, begin + own * US)
            trace.launched(where, begin + own * US, begin + length, REDUCE)
    trace.keep_for("rank_lateness")


def test_two_late_ranks_alone_and_together(trace: Trace) -> None:
    job(trace, 100, 120, 130, 100, 100)
    rows = trace.ask("SELECT lost_ns, alone_ns, held_ns, joint_ns FROM rank_lateness")
    # In each of 4 steps; the slower one alone saves only its lead over the other.
    assert [tuple(ns // (4 * US) for ns in row) for row in rows] == [
        (0, 0, 0, 30), (0, 0, 20, 30), (30, 10, 30, 30), (0, 0, 0, 30), (0, 0, 0, 30)
    ]  # fmt: skip
    assert trace.ask("SELECT DISTINCT slowest_class FROM rank_lateness ORDER BY 1") == [
        ("gemm",), (None,)
    ]  # fmt: skip


def test_without_steps_every_device_says_why(trace: Trace) -> None:
    for rank in (0, 1):
        trace.kernel(0, 10, **trace.rank(rank))
    rows = trace.ask("SELECT device_key, rank_count, known_count, untold FROM rank_lateness")
    why = "no training steps were found"
    assert rows == [(1, None, 0, why), (2, None, 0, why)]


def test_steps_on_one_of_two_devices(trace: Trace) -> None:
    job(trace, 100)
    trace.kernel(0, 10, **trace.rank(1))
    trace.keep_for("rank_lateness")
    rows = trace.ask("SELECT rank_count, device_count, untold FROM rank_lateness")
    why = "steps were found on 1 of 2 devices"
    assert rows == [(1, 2, why), (None, 2, why)]
