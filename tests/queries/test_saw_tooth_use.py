"""Rows of ``saw_tooth`` in, findings out."""

from rows import Trace

SQL = "SELECT severity, wall, subject, detail, value FROM saw_tooth_use ORDER BY subject"


def gpu(trace: Trace, explanation: str | None, is_saw_tooth: bool | None = True) -> None:
    row = {"explanation": explanation, "is_saw_tooth": is_saw_tooth, "period_ns": 5_000}
    trace.given("saw_tooth", gpu_id="g", source_id="a", depth_share=0.5, **row)


def test_two_gpus_that_communicate_and_one_that_nothing_explains(trace: Trace) -> None:
    gpu(trace, "communication")
    gpu(trace, "communication")
    gpu(trace, "unknown")
    assert trace.ask(SQL) == [
        ("info", "communication", "communication", "2 GPUs, every 5000 ns", 0.5),
        ("info", None, "unknown", "1 GPUs, every 5000 ns", 0.5),
    ]
    evidence = trace.ask("SELECT evidence FROM saw_tooth_use ORDER BY subject")
    counts = [len(trace.ask(f"FROM saw_tooth WHERE {one}")) for (one,) in evidence]
    assert counts == [2, 1]


def test_steady_use(trace: Trace) -> None:
    gpu(trace, None, False)
    gpu(trace, None, None)
    assert trace.ask(SQL) == []
