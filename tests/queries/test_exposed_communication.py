"""The wall of communication in, a finding out."""

from rows import Trace


def found(
    trace: Trace, cost_share: float | None, is_wall: bool = False
) -> list[tuple[object, ...]]:
    trace.given("wall", wall="communication", cost_share=cost_share, is_wall=is_wall)
    trace.given("wall", wall="launch", cost_share=0.9, is_wall=True)
    return trace.ask("SELECT severity, wall, value, cost_share FROM exposed_communication")


def test_a_wall(trace: Trace) -> None:
    assert found(trace, 0.3, True) == [("wall", "communication", 0.3, 0.3)]


def test_above_a_tenth_it_is_worth_a_look(trace: Trace) -> None:
    assert found(trace, 0.11) == [("warning", "communication", 0.11, 0.11)]


def test_a_tenth_is_not(trace: Trace) -> None:
    assert found(trace, 0.1) == []


def test_unknown_is_no_finding(trace: Trace) -> None:
    assert found(trace, None) == []
