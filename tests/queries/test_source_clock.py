from rows import Trace

HOUR = 3_600 * 10**9


def clocks(trace: Trace) -> list[tuple[object, ...]]:
    return trace.ask("SELECT source_id, clock, zero_ns FROM source_clock ORDER BY ALL")


def test_times_of_day(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=5)
    trace.file("b", capture_start_local_ns=7)
    trace.file("c")
    assert clocks(trace) == [("a", "utc", 5), ("b", "local", 7), ("c", None, None)]


def test_the_zone_of_run_toml(trace: Trace) -> None:
    trace.file("b", capture_start_local_ns=10 * HOUR)
    trace.description("telemetry.utc_offset", "+01:30")
    assert clocks(trace) == [("b", "utc", 8.5 * HOUR)]


def test_west_of_greenwich(trace: Trace) -> None:
    trace.file("b", capture_start_local_ns=10 * HOUR)
    trace.description("telemetry.utc_offset", "-05:00")
    assert clocks(trace) == [("b", "utc", 15 * HOUR)]


def test_two_zones_are_none(trace: Trace) -> None:
    trace.file("b", capture_start_local_ns=10 * HOUR)
    trace.description("telemetry.utc_offset", "-05:00")
    trace.description("telemetry.utc_offset", "+01:00", source_id="c")
    assert clocks(trace) == [("b", "local", 10 * HOUR)]
