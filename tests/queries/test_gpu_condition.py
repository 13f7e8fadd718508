from rows import Trace


def test_each_gpu_has_its_clock_power_and_memory(trace: Trace) -> None:
    for value in (300, 500, 400):
        trace.sample("power_w", value)
    trace.sample("fb_used_bytes", 10)
    trace.sample("fb_used_bytes", 30)
    trace.sample("sm_active_share", 0.5)
    row = trace.only("FROM gpu_condition")
    assert (row["sample_count"], row["median_power_w"], row["max_memory_used_bytes"]) == (
        5,
        400,
        30,
    )
    assert row["median_sm_clock_hz"] is None


def test_without_telemetry_there_is_no_row(trace: Trace) -> None:
    trace.sample("sm_active_share", 0.5)
    assert trace.ask("FROM gpu_condition") == []
