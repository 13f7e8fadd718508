from rows import Trace


def test_the_same_name_with_another_grid_is_other_work(trace: Trace) -> None:
    where = trace.rank(0)
    for step in (0, 1):
        begin = 100 * step
        trace.step(where, begin, begin + 100, f"step {step}")
        for place, grid in enumerate((8, 8, 9)):
            at = begin + 20 * place
            trace.launched(where, at, at + 10 + place, grid_x=grid)
        trace.launched(where, begin + 90, begin + 100, "ncclAllReduce")
    rows = trace.ask("SELECT step, kernel_count, total_ns FROM step_kernel ORDER BY ALL")
    assert rows == [(0, 1, 12), (0, 2, 21), (1, 1, 12), (1, 2, 21)]
    assert trace.ask("SELECT count(DISTINCT shape) FROM step_kernel") == [(2,)]


def test_by_launch_and_a_call_of_two_rows_launches_once(trace: Trace) -> None:
    where = trace.rank(0)
    for step in (0, 1):
        begin = 100 * step
        trace.step(where, begin, begin + 100, f"step {step}")
        trace.launched(where, begin + 10, begin + 20)
    trace.call(10, 10, correlation_id=1, **where)
    trace.launched(where, 130, 145, call_ns=90)
    rows = trace.ask("SELECT step, kernel_count, total_ns FROM step_kernel ORDER BY ALL")
    assert rows == [(0, 2, 25), (1, 1, 10)]
