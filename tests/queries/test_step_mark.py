from typing import Any

from rows import Trace


def job(trace: Trace, *own_ns: int) -> None:
    """Ranks that compute own_ns in steps 1 to 3, each of which takes 10 000."""
    for rank, own in enumerate(own_ns):
        where = trace.rank(rank)
        for step in (1, 2, 3):
            begin = 10_000 * step
            trace.step(where, begin, begin + 9_999, f"step {step}")
            trace.launched(where, begin, begin + own)
            trace.launched(where, begin + own, begin + 10_000, "ncclAllReduce")


def asked(trace: Trace, sql: str) -> list[tuple[Any, ...]]:
    trace.connection.execute("CREATE OR REPLACE TEMP TABLE mark AS FROM step_mark")
    return trace.ask(sql)


def test_marks_of_the_median_step(trace: Trace) -> None:
    job(trace, 4_000)
    rows = asked(trace, "SELECT step, lane, class, start_ns, end_ns FROM mark ORDER BY mark")
    assert rows == [
        (1, "NVTX 1.0", "nvtx", 0, 10_000),
        (1, "stream 7", "gemm", 0, 4_000),
        (1, "stream 7", "communication", 4_000, 10_000),
    ]


def test_short_kernels_become_one_mark(trace: Trace) -> None:
    trace.threshold("step_mark_count", 10)  # 1000 each
    where = trace.rank(0)
    for step in (1, 2, 3):
        begin = 10_000 * step
        trace.step(where, begin, begin + 9_999, f"step {step}")
        for start in (100, 300, 500):
            trace.launched(where, begin + start, begin + start + 100)
        trace.launched(where, begin + 5_000, begin + 10_000, "long")
    columns = "start_ns, end_ns, part_count, part_ns"
    rows = asked(trace, f"SELECT {columns} FROM mark WHERE lane = 'stream 7' ORDER BY mark")
    assert [row[2:] for row in rows] == [(3, 300), (1, 5_000)]
    assert rows[0][1] - rows[0][0] == 500


def test_devices_with_most_and_with_least_excess(trace: Trace) -> None:
    trace.threshold("step_mark_device_count", 2)
    job(trace, 2_000, 1_000, 3_000)
    rows = asked(
        trace,
        "SELECT DISTINCT rank FROM mark JOIN traced_device USING (device_key) ORDER BY rank",
    )
    assert rows == [(1,), (2,)]


def test_without_steps_no_marks(trace: Trace) -> None:
    trace.kernel()
    assert asked(trace, "FROM mark") == []


def test_ranges_nest(trace: Trace) -> None:
    job(trace, 5_000)
    where = trace.rank(0)
    for step in (1, 2, 3):
        trace.step(where, 10_000 * step, 10_000 * step + 4_000, "forward")
    rows = asked(trace, "SELECT lane, text, end_ns FROM mark WHERE class = 'nvtx' ORDER BY lane")
    assert rows == [("NVTX 1.0", "step 1", 10_000), ("NVTX 1.1", "forward", 5_000)]
