from rows import Trace

ASK = "SELECT step, grid_x, kernel_count, total_ns FROM kernel_shape_time ORDER BY ALL"


def test_kernels_by_name_and_shape(trace: Trace) -> None:
    trace.profile({})
    trace.kernel(0, 10, grid_x=1)
    trace.kernel(20, 25, grid_x=1)
    trace.kernel(30, 31, grid_x=2)
    trace.kernel(40, 42)
    assert trace.ask(ASK) == [(None, 1, 2, 15), (None, 2, 1, 1), (None, None, 1, 2)]


def test_by_the_step_that_they_start_in(trace: Trace) -> None:
    trace.profile({})
    where = trace.rank(0)
    trace.kernel(0, 5, grid_x=1, **where)
    for step, begin in enumerate((100, 200)):
        trace.step(where, begin, begin + 90, f"step {step}")
        trace.launched(where, begin, begin + 80, grid_x=1)
    trace.kernel(300, 307, grid_x=1, **where)
    rows = dict(row[0::3] for row in trace.ask(ASK))
    assert rows == {0: 80, 1: 80, None: 12}


def test_only_of_runs_with_profiles(trace: Trace) -> None:
    trace.kernel()
    trace.profile({}, run_id="other")
    assert trace.ask(ASK) == []
