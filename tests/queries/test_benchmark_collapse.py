"""Rows of ``collective_curve_dip`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "source_id": "a",
    "benchmark_id": 1,
    "sweep": 0,
    "operation": "all_reduce",
    "kind": "collapse",
    "size_bytes": 8,
    "lost_share": 0.5,
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("collective_curve_dip", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM benchmark_collapse")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [
        ("warning", "interconnect", "all_reduce collapse at 8 bytes", 0.5, None)
    ]


def test_evidence_names_its_rows(trace: Trace) -> None:
    found(trace)
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM benchmark_collapse")
    assert trace.ask(f"FROM {view} WHERE {evidence}") != []


def test_sizes_of_a_curve_are_told_at_once(trace: Trace) -> None:
    found(trace, is_in_place=True)
    row = {"size_bytes": 32, "lost_share": 0.6, "is_in_place": True}
    assert found(trace, **row) == [
        ("warning", "interconnect", "all_reduce collapse at 2 sizes from 8 to 32 bytes", 0.6, None)
    ]
    assert trace.only("FROM benchmark_collapse")["detail"] == "in place"
