from rows import Trace


def test_counters_and_parts_of_a_gpu_are_left_out(trace: Trace) -> None:
    trace.sample("power_w", 300)
    trace.sample("energy_j", 1_000_000)
    trace.sample("sm_active_share", 0.5, entity="gpu_instance", entity_id="1")
    trace.sample("nvlink_tx_bytes_per_s", 1e9, entity="link", entity_id="3")
    trace.sample("own_counter_of_a_tool", 7)
    assert trace.ask("SELECT metric, kind, value FROM gpu_reading ORDER BY metric") == [
        ("own_counter_of_a_tool", None, 7.0),
        ("power_w", "gauge", 300.0),
    ]
