from rows import Trace

COLUMNS = "own_clock_hz, peer_clock_hz, peer_count, power_limit_w, limit_source"


def asked(trace: Trace) -> list[tuple[object, ...]]:
    return trace.ask(f"SELECT {COLUMNS} FROM clock_reference ORDER BY telemetry_key")


def test_a_slowdown_for_most_of_the_time_is_not_ordinary(trace: Trace) -> None:
    trace.rounds(sm_clock_hz=[2e9, 1e9, 1e9, 1e9], clock_event_reasons=[4, 72, 72, 72])
    assert asked(trace) == [(2e9, None, 1, None, None)]


def test_a_slowdown_all_along_shows_no_ordinary_clock(trace: Trace) -> None:
    trace.rounds(sm_clock_hz=[1e9, 1e9], clock_event_reasons=[64, 64], gpu_util_share=1)
    assert asked(trace)[0][:3] == (None, None, 0)
    ((fallen,),) = trace.ask("SELECT fallen_share FROM throttle_group")
    assert fallen is None  # not 0


def test_idle_clocks_do_not_count(trace: Trace) -> None:
    trace.rounds(sm_clock_hz=[2e9, 3e8, 3e8], gpu_util_share=[1, 0, 0])
    assert asked(trace)[0][0] == 2e9


def test_peers_are_of_one_product_and_run(trace: Trace) -> None:
    for gpu, clock in (("A", 2e9), ("B", 2e9), ("C", 1e9), ("D", 9e9)):
        trace.rounds(sm_clock_hz=[clock], gpu_util_share=[1], gpu_id=gpu)
        name = "NVIDIA H100 80GB HBM3" if gpu != "D" else "other"
        trace.insert("device", gpu_id=gpu, name=name)
    assert asked(trace) == [
        (2e9, 2e9, 3, 700.0, "product"),
        (2e9, 2e9, 3, 700.0, "product"),
        (1e9, 2e9, 3, 700.0, "product"),
        (9e9, None, 1, None, None),
    ]


def test_a_sampled_limit_counts_first(trace: Trace) -> None:
    trace.insert("device", gpu_id="gpu X", name="NVIDIA H100 80GB HBM3")
    trace.rounds(sm_clock_hz=[2e9], enforced_power_limit_w=500)
    assert asked(trace) == [(2e9, None, 1, 500.0, "sampled")]
