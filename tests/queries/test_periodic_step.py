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
