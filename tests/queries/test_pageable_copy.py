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
    assert found(trace) == [("info", "memory copies", "HtoD", 0.2, None)]


def test_devices_that_copy_alike_are_told_once(trace: Trace) -> None:
    for rank, total_ns in enumerate((20, 30, 1)):
        where = {"source_id": f"of {rank}", "process": 1, "device_id": 0}
        trace.given("nccl_time_share", **where, span_ns=100)
        trace.given("memory_copy_summary", **(ROW | where | {"rank": rank, "total_ns": total_ns}))
    told = ("HtoD", "2 devices, most on rank 1 device 0", 0.3)
    assert trace.ask("SELECT subject, detail, value FROM pageable_copy") == [told]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, source_memory="pinned") == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM pageable_copy")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []
