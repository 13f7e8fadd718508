from rows import Trace

STEPS = "SELECT step, start_ns, work_end_ns, round(confidence, 2) FROM periodic_step ORDER BY step"


def test_steps_from_mark_to_mark(trace: Trace) -> None:
    for start_ns in (0, 100, 400):
        for place in range(5):
            trace.kernel(start_ns + 10 * place, start_ns + 10 * place + 5, f"kernel {place}")
    trace.copy(350, 420)
    assert trace.ask(STEPS) == [(0, 0, 45, 0.67), (1, 100, 420, 0.67), (2, 400, 445, 0.67)]


def test_without_a_period_there_are_none(trace: Trace) -> None:
    trace.kernel(0, 10)
    assert trace.ask(STEPS) == []


def test_a_step_begins_behind_its_optimizer(trace: Trace) -> None:
    # Of the forward pass every kernel runs twice: the first that runs once is the loss.
    plan = [(0, "gemm"), (10, "gelu"), (20, "gemm"), (30, "gelu"), (40, "loss"), (90, "adam")]
    for begin in (0, 100, 200, 300):
        for at, name in plan:
            trace.kernel(begin + at, begin + at + 5, name)
    columns = "step, start_ns, work_end_ns, is_cut_off"
    whole = [(step, 100 * step, 100 * step + 95, False) for step in range(4)]
    asked = f"SELECT {columns} FROM periodic_step ORDER BY step"
    assert trace.ask(asked) == whole
    trace.kernel(400, 405, "gemm")
    assert trace.ask(asked) == [*whole, (4, 400, 405, True)]


def test_a_capture_that_begins_within_a_step(trace: Trace) -> None:
    for begin in (0, 100, 200, 300):
        for at, name in [(0, "gemm"), (10, "gemm"), (20, "gelu"), (40, "loss"), (90, "adam")]:
            if begin + at >= 20:
                trace.kernel(begin + at, begin + at + 5, name)
    rows = trace.ask("SELECT step, start_ns, is_cut_off FROM periodic_step ORDER BY step")
    assert rows == [(0, 100, False), (1, 200, False), (2, 300, False)]
