from rows import Trace

ROWS = "SELECT ts_ns, dur_ns, value, increase_value, is_reset FROM gpu_counter ORDER BY ALL"


def test_a_counter_is_what_it_grew_by(trace: Trace) -> None:
    for ts_ns, value in ((0, 500), (1_000, 800), (2_000, 800), (3_000, 20), (4_000, 50)):
        trace.sample("energy_j", value, ts_ns)
    assert trace.ask(ROWS) == [
        (1_000, 1_000, 800.0, 300.0, False),
        (2_000, 1_000, 800.0, 0.0, False),
        (3_000, 1_000, 20.0, None, True),
        (4_000, 1_000, 50.0, 30.0, False),
    ]


def test_rounds_order_a_counter_without_a_clock(trace: Trace) -> None:
    trace.sample("energy_j", 8, None, tick=1)
    trace.sample("energy_j", 5, None, tick=0)
    assert trace.ask("SELECT tick, dur_ns, increase_value FROM gpu_counter") == [(1, None, 3.0)]


def test_what_is_no_counter_or_another_one_is_not_differenced(trace: Trace) -> None:
    trace.sample("nvlink_nvml_bytes_per_s", 5, 0)  # a rate, though an exporter says counter
    trace.sample("nvlink_nvml_bytes_per_s", 9, 1)
    trace.sample("energy_j", 5, 0)
    trace.sample("energy_j", 9, 1, gpu_id="gpu Y")
    trace.sample("energy_j", 9, 1, source_id="b")
    trace.sample("nvlink_replay_error_count", 1, 0)
    trace.sample("nvlink_replay_error_count", 2, 1, entity="link", entity_id="0")
    assert trace.ask("FROM gpu_counter") == []
