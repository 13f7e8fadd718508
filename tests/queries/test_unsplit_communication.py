"""Communication of unknown cost in, a finding out."""

from rows import Trace

REASON = "only one rank is present"


def found(trace: Trace, cost_share: float | None, bound_share: float) -> list[tuple[object, ...]]:
    row = {"cost_share": cost_share, "bound_share": bound_share, "reason": REASON}
    trace.given("wall", wall="communication", **row)
    return trace.ask("SELECT severity, detail, value, cost_share FROM unsplit_communication")


def test_much_of_it_cannot_be_split(trace: Trace) -> None:
    assert found(trace, None, 0.3) == [("warning", REASON, 0.3, None)]


def test_little_of_it_does_not_matter(trace: Trace) -> None:
    assert found(trace, None, 0.1) == []


def test_what_is_known_is_another_finding(trace: Trace) -> None:
    assert found(trace, 0.3, 0.3) == []
