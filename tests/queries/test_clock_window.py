from rows import Trace

S = 10**9


def test_when_how_far_and_why(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=1_000 * S)
    trace.insert("host_placement", host="node", rack="r1", power_domain="left")
    trace.rounds(
        sm_clock_hz=[2e9, 2e9, 2e9, 1e9, 0.5e9, 2e9],
        clock_event_reasons=[4, 4, 4, 0x88, 0x88, 4],
        power_w=[700, 700, 700, 300, 200, 700],
        temperature_celsius=60,
        power_limit_w=700,
        gpu_util_share=1,
        device_id=3,
    )
    window = trace.only("FROM clock_window")
    assert (window["limited_by"], window["is_throttling"]) == ("power brake", True)
    assert window["reason_names"] == "hardware slowdown, power brake"
    assert (window["start_utc_ns"], window["dur_ns"]) == (1_003 * S, 2 * S)
    assert (window["min_clock_hz"], window["mean_clock_hz"]) == (0.5e9, 0.75e9)
    assert (window["own_clock_hz"], window["fallen_share"]) == (2e9, 0.625)
    assert (window["mean_power_w"], window["power_limit_w"]) == (250, 700)
    assert (window["rack"], window["power_domain"], window["device_id"]) == ("r1", "left", 3)


def test_two_gpus_and_two_hosts_with_equal_ids(trace: Trace) -> None:
    for host, gpu in (("m", "gpu:0"), ("n", "gpu:0"), ("n", "gpu:1")):
        trace.rounds(clock_event_reasons=[0, 64, 0, 64], host=host, gpu_id=gpu)
    columns = "host, gpu_id, window_number, start_ns // 1000000000"
    assert trace.ask(f"SELECT {columns} FROM clock_window") == [
        ("m", "gpu:0", 1, 1), ("m", "gpu:0", 2, 3), ("n", "gpu:0", 1, 1), ("n", "gpu:0", 2, 3),
        ("n", "gpu:1", 1, 1), ("n", "gpu:1", 2, 3),
    ]  # fmt: skip
