"""What each wall costs in, which of them are walls out."""

from rows import Trace

CANDIDATES = (
    "communication", "waiting", "idle", "copies", "memory_bandwidth", "memory_capacity", "power",
    "interconnect",
)  # fmt: skip


def judged(trace: Trace, wall: str, **row: object) -> tuple[object, ...]:
    for name in CANDIDATES:
        trace.stand_in(f"wall_{name}")
    trace.given("wall_idle", wall=wall, is_evident=False, **row)
    (found,) = trace.ask("SELECT is_wall, is_open, limit_share, collect FROM wall")
    return found


def test_a_tenth_of_the_step_is_a_wall(trace: Trace) -> None:
    assert judged(trace, "launch", cost_share=0.1) == (True, False, 0.1, None)
    assert trace.ask("SELECT wall, cost_share FROM wall") == [("launch", 0.1)]


def test_less_is_none(trace: Trace) -> None:
    assert judged(trace, "launch", cost_share=0.09)[:2] == (False, False)


def test_communication_has_a_limit_of_its_own(trace: Trace) -> None:
    assert judged(trace, "communication", cost_share=0.24)[:3] == (False, False, 0.25)


def test_what_is_unknown_is_open(trace: Trace) -> None:
    (*told, command) = judged(trace, "launch", need="nsys")
    assert told == [False, True, 0.1]
    assert str(command).startswith("nsys profile")


def test_what_cannot_cost_much_is_not_open(trace: Trace) -> None:
    assert judged(trace, "launch", bound_share=0.09)[:2] == (False, False)


def test_what_may_cost_much_is(trace: Trace) -> None:
    assert judged(trace, "launch", bound_share=0.1)[:2] == (False, True)
