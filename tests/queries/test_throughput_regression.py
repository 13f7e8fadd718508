from rows import Trace
from test_metric_verdict import VERDICT


def test_only_what_regressed_is_a_finding(trace: Trace) -> None:
    trace.insert("verdict", **VERDICT, verdict="regressed")
    trace.insert("verdict", **{**VERDICT, "statistic": "p95"}, verdict="improved")
    gap = {"view_name": "kernel_gap_summary", "metric": "gap_share", "change_share": 2.0}
    trace.insert("verdict", **{**VERDICT, **gap}, verdict="regressed")
    rows = trace.ask("SELECT metric, is_headline, change_share FROM throughput_regression")
    assert rows == [("step_ns", True, 0.136), ("gap_share", False, 2.0)]


def test_a_healthy_store_has_none(trace: Trace) -> None:
    trace.insert("verdict", **VERDICT, verdict="unchanged")
    assert trace.ask("FROM throughput_regression") == []
