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


def hosts(trace: Trace, *paths: str) -> list[object]:
    for name in ("node-1", "node-1-2", "node-2"):
        trace.insert("host_placement", source_id="toml", host=name)
    for path in paths:
        trace.file(path, path=path)
    found = dict(trace.ask("SELECT source_id, host FROM source_clock"))
    return [found[path] for path in paths]


def test_a_file_called_by_a_host_of_run_toml(trace: Trace) -> None:
    assert hosts(trace, "node-1.gpu.csv", "Node_2/dmon.txt") == ["node-1", "node-2"]


def test_a_longer_name_is_another_host(trace: Trace) -> None:
    assert hosts(trace, "node-1-2.csv", "node-12.csv", "xnode-1.csv") == ["node-1-2", None, None]


def test_two_hosts_in_a_name_are_none(trace: Trace) -> None:
    assert hosts(trace, "node-1/to-node-2.csv") == [None]


def test_what_the_file_says_counts(trace: Trace) -> None:
    trace.file("node-1.csv", path="node-1.csv", host="other")
    trace.insert("host_placement", source_id="toml", host="node-1")
    assert trace.ask("SELECT host FROM source_clock") == [("other",)]
