"""Launches of devices in, findings out."""

from rows import Trace


def test_a_device_whose_clock_disagrees(trace: Trace) -> None:
    where = {"source_id": "a", "process": 7, "host": "node"}
    trace.given("launch_summary", **where, device_id=0, is_aligned=True, early_count=0)
    trace.given(
        "launch_summary", **where, device_id=1, is_aligned=False, early_count=3, launched_count=4
    )
    assert trace.ask("SELECT severity, wall, subject, value, evidence FROM misaligned_clocks") == [
        (
            "warning",
            None,
            "node device 1 of process 7",
            0.75,
            "source_id = 'a' AND process = 7 AND device_id = 1",
        )
    ]
