"""How well collectives moved their bytes in, what that costs out."""

from rows import Trace

SQL = "SELECT subject, cost_ns, cost_share, bound_share, need FROM wall_interconnect"


def given(trace: Trace, hidden_share: float | None = 0.4) -> None:
    for view in ("collective_efficiency", "step_time", "what_if", "nccl_time_share"):
        trace.stand_in(view)
    trace.given("run_evidence", step_count=2, traced_count=4)
    for step in range(2):
        trace.given("step_time", step=step, step_ns=100)
    if hidden_share is not None:
        row = {"saved_ns": 100 * hidden_share, "saved_share": hidden_share}
        trace.given("what_if", scenario="communication takes no time", **row)


def test_slow_transfers_cost_what_they_lose(trace: Trace) -> None:
    given(trace)
    for cause, lost_ns in (("transfer", 30), ("wait", 50), ("none", 5), ("transfer", 10)):
        row = {"operation": f"op {lost_ns}", "cause": cause, "lost_transfer_ns": lost_ns}
        trace.given("collective_efficiency", **row)
    assert trace.ask(SQL) == [("op 30", 20.0, 0.2, 0.4, None)]


def test_what_compute_hides_is_not_lost(trace: Trace) -> None:
    given(trace, hidden_share=0.1)
    trace.given("collective_efficiency", operation="op", cause="transfer", lost_transfer_ns=80)
    assert trace.ask(SQL) == [("op", 10.0, 0.1, 0.1, None)]


def test_without_anything_to_compare_with_it_is_unknown(trace: Trace) -> None:
    given(trace)
    trace.given("collective_efficiency", operation="op")
    assert trace.ask(SQL) == [(None, None, None, 0.4, "nccl-tests")]


def test_healthy_transfers_cost_nothing(trace: Trace) -> None:
    given(trace)
    trace.given("collective_efficiency", operation="op", cause="none", lost_transfer_ns=1)
    assert trace.ask(SQL) == [(None, 0.0, 0.0, 0.4, None)]
