"""What each wall costs in, which of them are walls out."""

from rows import Trace

CANDIDATES = (
    "communication", "waiting", "idle", "copies", "memory_bandwidth", "memory_capacity", "power",
    "interconnect",
)  # fmt: skip


def judged(trace: Trace, wall: str, **row: object) -> tuple[object, ...]:
    for name in CANDIDATES:
        trace.stand_in(f"wall_{name}")
    trace.given("run_scale", gpu_count=8, price_per_gpu_hour=2.0, currency="EUR")
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


SAVED = "SELECT before_ns, after_ns, gpu_count, gpu_hours_per_day, price_per_day FROM wall"


def test_what_a_wall_costs_a_day(trace: Trace) -> None:
    judged(trace, "launch", cost_share=0.25, cost_ns=50.0, basis="step")
    assert trace.ask(SAVED) == [(200.0, 150.0, 8, 48.0, 96.0)]


def test_a_share_of_the_span_shortens_no_step(trace: Trace) -> None:
    judged(trace, "launch", cost_share=0.25, cost_ns=50.0, basis="span")
    assert trace.ask(SAVED) == [(None, None, 8, 48.0, 96.0)]


def test_what_is_unknown_saves_nothing_that_one_could_say(trace: Trace) -> None:
    judged(trace, "launch", basis="step")
    assert trace.ask(SAVED) == [(None, None, 8, None, None)]


def test_what_to_collect_is_a_command_and_nothing_else(trace: Trace) -> None:
    told = trace.ask("SELECT need, command, remark FROM collect")
    assert told and all(remark for *_, remark in told)
    assert [need for need, command, _ in told if ", on " in command or "add " in command] == []
    assert all("250,252" in command for need, command, _ in told if need == "dcgm")


def test_the_allocators_time_is_not_counted_twice(trace: Trace) -> None:
    for name in CANDIDATES:
        trace.stand_in(f"wall_{name}")
    trace.given("run_scale", gpu_count=8)
    row = {"is_evident": False, "basis": "step"}
    trace.given("wall_idle", wall="launch", cost_ns=35.0, cost_share=0.35, **row)
    trace.given("wall_idle", wall="input", cost_ns=20.0, cost_share=0.2, **row)
    full = {"wall": "memory capacity", "is_evident": True, "basis": "step"}
    trace.given("wall_memory_capacity", cost_ns=30.0, cost_share=0.3, **full)
    assert trace.ask("SELECT wall, cost_ns, round(cost_share, 3), is_wall FROM wall") == [
        ("memory capacity", 30.0, 0.3, True),
        ("input", 20.0, 0.2, True),
        ("launch", 5.0, 0.05, False),
    ]
