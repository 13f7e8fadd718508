"""Rows of ``clock_summary`` in, a finding out."""

from rows import Trace

SQL = "SELECT severity, subject, detail, value FROM hot_gpu"


def hottest(trace: Trace, *celsius: float | None, is_primary: bool = True) -> None:
    for gpu, value in enumerate(celsius):
        row = {"source_id": "a", "host": "n", "gpu_id": f"g{gpu}", "device_id": gpu}
        row |= {"is_primary": is_primary, "max_temperature_celsius": value}
        trace.given("clock_summary", **row)


def test_two_of_three_are_hot(trace: Trace) -> None:
    hottest(trace, 85, 91, 60)
    assert trace.ask(SQL) == [("warning", "n GPU 1", "2 of 3 GPUs", 91.0)]
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM hot_gpu")
    assert len(trace.ask(f"FROM {view} WHERE {evidence}")) == 2


def test_cool_or_unknown(trace: Trace) -> None:
    hottest(trace, 84, None)
    hottest(trace, 99, is_primary=False)
    assert trace.ask(SQL) == []
