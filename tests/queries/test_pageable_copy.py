"""Rows of ``memory_copy_summary`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "process": 1,
    "device_id": 0,
    "rank": 0,
    "kind": "HtoD",
    "source_memory": "pageable",
    "total_ns": 20,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("nccl_time_share", source_id="a", process=1, device_id=0, span_ns=100)
    trace.given("memory_copy_summary", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM pageable_copy")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("info", "memory copies", "rank 0 device 0 HtoD", 0.2, None)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, source_memory="pinned") == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM pageable_copy")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
