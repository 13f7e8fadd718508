from rows import Trace

VERDICT = {
    "source_id": "verdict",
    "series": "nightly",
    "view_name": "step_time",
    "metric": "step_ns",
    "statistic": "median",
    "key": "",
    "unit": "ns",
    "better": "lower",
    "word": "one night",
    "reason": "",
    "value": 113.6,
    "baseline": 100.0,
    "change": 13.6,
    "change_share": 0.136,
    "suspects": "",
}


def test_verdicts_are_shown_as_they_were_stored(trace: Trace) -> None:
    trace.insert("verdict", **VERDICT, verdict="regressed")
    trace.insert("verdict", **{**VERDICT, "statistic": "p95"}, verdict="unchanged")
    rows = trace.ask("SELECT statistic, verdict, change_share FROM metric_verdict")
    assert rows == [("median", "regressed", 0.136), ("p95", "unchanged", 0.136)]


def test_without_verdicts_there_is_no_row(trace: Trace) -> None:
    assert trace.ask("FROM metric_verdict") == []
