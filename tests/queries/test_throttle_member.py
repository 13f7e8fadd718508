from rows import Trace

S = 10**9
HOT, BRAKE = 0x40, 0x80


def window(trace: Trace, host: str, gpu: str, mask: int, start: int, end: int) -> None:
    masks = [mask if start <= at < end else 0 for at in range(300)]
    trace.rounds(clock_event_reasons=masks, host=host, gpu_id=gpu)


def events(trace: Trace) -> list[tuple[object, ...]]:
    return trace.ask(
        "SELECT event, family, place, list_sort(list(host || gpu_id)) FROM throttle_member AS m"
        " JOIN telemetry_gpu USING (run_id, telemetry_key) GROUP BY ALL ORDER BY event"
    )


def domains(trace: Trace) -> None:
    for host, rack, power_domain in (("a", "r1", "p"), ("b", "r2", "p"), ("c", "r2", "q")):
        trace.insert("host_placement", host=host, rack=rack, power_domain=power_domain)
    trace.file("a", capture_start_utc_ns=0)


def test_one_power_domain_at_one_moment(trace: Trace) -> None:
    domains(trace)
    window(trace, "a", "0", BRAKE, 10, 20)
    window(trace, "b", "0", BRAKE, 15, 25)
    window(trace, "c", "0", BRAKE, 15, 25)
    assert events(trace) == [(1, "power", "p", ["a0", "b0"]), (2, "power", "q", ["c0"])]


def test_heat_is_of_a_rack(trace: Trace) -> None:
    domains(trace)
    window(trace, "a", "0", HOT, 10, 20)
    window(trace, "b", "0", HOT, 10, 20)
    window(trace, "c", "0", HOT, 10, 20)
    assert events(trace) == [(1, "thermal", "r1", ["a0"]), (2, "thermal", "r2", ["b0", "c0"])]


def test_windows_that_follow_closely_are_one_event(trace: Trace) -> None:
    domains(trace)
    for gpu, start in (("0", 10), ("1", 70), ("2", 200)):
        window(trace, "a", gpu, HOT, start, start + 5)
    assert [row[3] for row in events(trace)] == [["a0", "a1"], ["a2"]]


def test_times_of_two_sources_without_a_clock_do_not_meet(trace: Trace) -> None:
    trace.insert("host_placement", host="a", power_domain="p")
    trace.insert("host_placement", host="b", power_domain="p")
    trace.rounds(clock_event_reasons=[0, HOT, 0], host="a", source_id="x")
    trace.rounds(clock_event_reasons=[0, HOT, 0], host="b", source_id="y")
    assert trace.ask("SELECT count(DISTINCT event) FROM throttle_member") == [(2,)]
