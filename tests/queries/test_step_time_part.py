from typing import Any

from rows import Trace


def step(trace: Trace, number: int, *work: tuple[str, int, int], **more: Any) -> None:
    host_ns = 1000 * number - 100_000
    if number == 0:  # earlier work up to 0, behind which the first step begins
        trace.kernel(-10, 0)
    trace.range(host_ns, host_ns + 1000, f"step {number}")
    make = {"copy": trace.copy, "set": trace.set, "graph": trace.graph}
    for name, start_ns, end_ns in work:
        interval = (start_ns, end_ns)
        trace.launch((host_ns + 1, host_ns + 2), interval, name, make=make.get(name), **more)


def parts(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {', '.join(columns)} FROM step_time_part ORDER BY part, class, name")


def test_parts_sum_to_the_steps(trace: Trace) -> None:
    step(trace, 0, ("gemm", 0, 60), ("relu", 40, 100))
    step(
        trace,
        1,
        ("gemm", 130, 190),
        ("relu", 160, 170),  # covered by the gemm
        ("ncclAllReduce", 180, 220),  # 30 exposed
        ("copy", 210, 240),  # 20 exposed
        ("graph", 250, 300),
    )
    assert parts(trace, "part", "class", "name", "launch_count", "total_ns") == [
        ("compute", "elementwise", "relu", 2, 40),
        ("compute", "gemm", "gemm", 2, 120),
        ("compute", "graph", None, 1, 50),
        ("exposed_communication", None, None, None, 30),
        ("exposed_memory", None, None, None, 20),
        ("idle", "short_gap", None, None, 40),
    ]
    assert trace.ask("SELECT sum(total_ns), any_value(device_step_count) FROM step_time_part") == [
        (300, 2)
    ]
    assert trace.ask("SELECT sum(step_ns) FROM step_time") == [(300,)]


def test_kernels_carry_their_most_frequent_shape(trace: Trace) -> None:
    grid = {"grid_y": 1, "grid_z": 1, "block_x": 256, "block_y": 1, "block_z": 1}
    for number, grid_x in enumerate((8, 8, 4)):
        step(trace, number, ("gemm", 10 * number, 10 * number + 10), grid_x=grid_x, **grid)
    assert parts(trace, "name", "shape") == [("gemm", "8.1.1/256.1.1")]


def test_steps_that_summaries_leave_out_are_left_out(trace: Trace) -> None:
    step(trace, 0, ("gemm", 0, 1000))  # warm-up
    for number in (1, 2, 3):
        step(trace, number, ("gemm", 900 + 100 * number, 1000 + 100 * number))
    assert parts(trace, "total_ns", "device_step_count") == [(300, 3)]


def test_without_steps_there_is_no_row(trace: Trace) -> None:
    trace.kernel(0, 10)
    assert parts(trace, "part") == []


def test_waiting_is_told_from_transfer_where_it_can_be(trace: Trace) -> None:
    for rank, begin_ns in ((0, 100), (1, 160)):
        where = trace.rank(rank, utc_ns=0)
        for number in range(2):
            at = 1000 * number
            trace.step(where, at, at + 10, f"step {number}")
            trace.launched(where, at + 20, at + begin_ns, call_ns=at + 1)
            trace.launched(
                where, at + begin_ns, at + 200, "ncclDevKernel_AllReduce_Sum", call_ns=at + 2
            )
    trace.keep_for("step_time_part")
    rows = dict(trace.ask("SELECT part, sum(total_ns) FROM step_time_part GROUP BY part"))
    assert rows["exposed_wait"] == 2 * 60
    assert rows["exposed_transfer"] == 4 * 40
    assert sum(rows.values()) == trace.ask("SELECT sum(step_ns) FROM step_time")[0][0]


def test_what_precedes_all_work_on_the_device_is_lead_in(trace: Trace) -> None:
    for number in (0, 1):
        trace.range(1000 * number, 1000 * number + 900, f"step {number}")
        call_ns = 1000 * number + 400
        trace.launch((call_ns, call_ns + 10), (call_ns + 20, call_ns + 500))
    assert parts(trace, "part", "class", "total_ns") == [
        ("compute", "gemm", 960),
        ("idle", "lead_in", 420),
        ("idle", "short_gap", 520),
    ]
    assert trace.ask("SELECT sum(step_ns) FROM step_time") == [(1900,)]
