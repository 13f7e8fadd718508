"""Stragglers in, findings out."""

from rows import Trace

PART = "idle: data_loading"


def found(trace: Trace, **row: object) -> list[tuple[object, ...]]:
    where = {"source_id": "a", "process": 7, "device_id": 0, "reason": PART}
    trace.given("straggler", **where, verdict="ordinary", rank=0, lost_share=0.0)
    trace.given("straggler", **(where | {"verdict": "straggler"} | row))
    return trace.ask("SELECT severity, subject, detail, value, evidence FROM late_rank")


EVIDENCE = "source_id = 'a' AND process = 7 AND device_id = 0"


def test_a_rank_that_costs_a_tenth(trace: Trace) -> None:
    row = {"rank": 2, "host": "node-b", "lost_share": 0.1}
    assert found(trace, **row) == [("wall", "rank 2 on node-b", PART, 0.1, EVIDENCE)]


def test_a_device_whose_rank_is_unknown(trace: Trace) -> None:
    assert found(trace, lost_share=0.03) == [
        ("warning", "device 0 of process 7", PART, 0.03, EVIDENCE)
    ]


def test_a_rank_that_cannot_be_judged(trace: Trace) -> None:
    assert found(trace, verdict="cannot tell", lost_share=None) == []


def test_one_of_two_that_are_equally_late_costs_nothing_alone(trace: Trace) -> None:
    ((severity, _, _, value, _),) = found(trace, rank=3, lost_share=0.0)
    assert (severity, value) == ("warning", None)
    assert trace.ask("SELECT threshold, cost_share FROM late_rank") == [(None, 0.0)]
