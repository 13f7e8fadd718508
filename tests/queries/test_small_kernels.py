"""Rows of ``launch_summary`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {"source_id": "a", "process": 1, "device_id": 0, "short_kernel_share": 0.8}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("launch_summary", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM small_kernels")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("info", "launch", None, 0.8, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, short_kernel_share=0.2) == []
