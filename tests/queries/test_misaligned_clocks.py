"""Launches of devices in, findings out."""

from rows import Trace


def test_a_device_whose_clock_disagrees(trace: Trace) -> None:
    where = {"source_id": "a", "process": 7, "host": "node"}
    trace.given("launch_summary", **where, device_id=0, is_aligned=True, early_count=0)
    trace.given(
        "launch_summary", **where, device_id=1, is_aligned=False, early_count=3, launched_count=4,
        disagreement_ns=500,
    )  # fmt: skip
    rows = trace.ask(
        "SELECT severity, wall, subject, detail, value, evidence FROM misaligned_clocks"
    )
    assert rows == [
        (
            "warning",
            None,
            "node device 1 of process 7",
            "work starts up to 500 ns before its own launch call",
            0.75,
            "source_id = 'a' AND process = 7 AND device_id = 1",
        )
    ]


def test_a_clock_that_is_ahead_is_told_by_the_calls_that_waited(trace: Trace) -> None:
    trace.given(
        "launch_summary", source_id="a", process=7, host="node", device_id=1, is_aligned=False,
        early_count=0, launched_count=4, late_count=2, waited_count=2, disagreement_ns=900,
    )  # fmt: skip
    assert trace.ask("SELECT detail, value, threshold FROM misaligned_clocks") == [
        ("calls return up to 900 ns before the end of the work they waited for", 1, 0.01)
    ]
