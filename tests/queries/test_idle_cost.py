"""What the job would save without each cause in, the cost of each out."""

from rows import Trace


def cost(trace: Trace, cause: str, saved_share: float | None, is_wall: bool) -> list[object]:
    for wall in ("launch", "input"):
        trace.given("wall", wall=wall, is_wall=is_wall)
    trace.given("what_if", scenario=f"no idle time: {cause}", saved_share=saved_share)
    trace.given("what_if", scenario="no idle time of wall: launch", saved_share=0.9)
    for name, responsible_ns in (("another", 5), ("call", 9)):
        row = {"cause": cause, "responsible": name, "responsible_ns": responsible_ns}
        trace.given("kernel_gap_cause", **row)
    sql = "SELECT cause, wall, severity, saved_share, responsible FROM idle_cost"
    (row,) = trace.ask(sql)
    return list(row)


def test_a_tenth_of_the_step_is_a_wall(trace: Trace) -> None:
    assert cost(trace, "synchronize", 0.1, True) == [
        "synchronize", "launch", "wall", 0.1, "call",
    ]  # fmt: skip


def test_less_is_a_warning(trace: Trace) -> None:
    assert cost(trace, "data_loading", 0.09, True)[1:3] == ["input", "warning"]


def test_what_only_a_late_rank_has_is_no_wall_of_its_own(trace: Trace) -> None:
    assert cost(trace, "data_loading", 0.2, False)[1:3] == ["input", "warning"]


def test_a_cause_of_no_wall(trace: Trace) -> None:
    assert cost(trace, "profiler", 0.2, True)[1:3] == [None, "warning"]


def test_an_unknown_cost(trace: Trace) -> None:
    assert cost(trace, "synchronize", None, True)[2:4] == ["warning", None]


def test_without_steps_it_is_a_share_of_the_span(trace: Trace) -> None:
    trace.given("wall", wall="launch", is_wall=True)
    trace.stand_in("what_if")
    device = {"source_id": "file", "process": 1, "device_id": 0}
    trace.given("nccl_time_share", span_ns=100, **device)
    for total_ns in (20, 40):
        trace.given("kernel_gap_cause", cause="launch_call", total_ns=total_ns, **device)
    asked = "SELECT cause, severity, saved_ns, saved_share FROM idle_cost"
    assert trace.ask(asked) == [("launch_call", "wall", None, 0.6)]
