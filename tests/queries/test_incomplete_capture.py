"""Doubts about a run in, findings out."""

from rows import Trace


def test_what_is_missing_is_said(trace: Trace) -> None:
    trace.given("run_trust", doubt="3 of 4 ranks are present", evidence_view="run_evidence")
    trace.given("run_trust", doubt="fewer than 3 steps", evidence_view="step_time")
    assert trace.ask("SELECT severity, detail, evidence FROM incomplete_capture") == [
        ("info", "3 of 4 ranks are present", "doubt = '3 of 4 ranks are present'")
    ]


def test_nothing_is_missing(trace: Trace) -> None:
    assert trace.ask("FROM incomplete_capture") == []
