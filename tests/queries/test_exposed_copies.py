"""Rows of ``wall`` in, a finding out."""

from typing import Any

from rows import Trace

ROW: dict[str, Any] = {
    "wall": "memory copies",
    "is_wall": True,
    "cost_share": 0.3,
    "evidence_view": "wall",
}


def found(trace: Trace, **changed: Any) -> list[tuple[object, ...]]:
    trace.given("wall", **(ROW | changed))
    return trace.ask("SELECT severity, wall, subject, value, cost_share FROM exposed_copies")


def test_what_is_wrong_is_told(trace: Trace) -> None:
    assert found(trace) == [("wall", "memory copies", None, 0.3, 0.3)]


def test_what_is_not_wrong_is_not_told(trace: Trace) -> None:
    assert found(trace, cost_share=0.05) == []
