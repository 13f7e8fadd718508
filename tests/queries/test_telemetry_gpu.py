from rows import Trace

UUID = "5a3b0001-0000-4c1d-9e8f-10ad00000100"
ROWS = "SELECT source_id, gpu_id, host, gpu_uuid, is_primary FROM telemetry_gpu ORDER BY ALL"


def test_one_gpu_in_two_files_is_one(trace: Trace) -> None:
    trace.sample("power_w", 1, 0, host=None, gpu_id=UUID)
    for ts_ns in (0, 9):
        trace.sample("power_w", 1, ts_ns, host="n", gpu_id=UUID, source_id="b")
    # The file without a host learns it; the longer one counts.
    assert trace.ask(ROWS) == [
        ("a", UUID, "n", UUID, False),
        ("b", UUID, "n", UUID, True),
    ]
    assert trace.ask("SELECT count(DISTINCT gpu_key) FROM telemetry_gpu") == [(1,)]


def test_an_index_is_a_gpu_of_its_host(trace: Trace) -> None:
    trace.sample("power_w", 1, host="n", gpu_id=UUID, device_id=2)
    trace.sample("power_w", 1, host="n", gpu_id="gpu:2", device_id=2, source_id="b")
    trace.sample("power_w", 1, host="m", gpu_id="gpu:2", device_id=2, source_id="b")
    keys = "SELECT host, gpu_id, gpu_uuid FROM telemetry_gpu ORDER BY ALL"
    assert trace.ask(keys) == [("m", "gpu:2", None), ("n", UUID, UUID), ("n", "gpu:2", UUID)]
    assert trace.ask("SELECT count(DISTINCT gpu_key) FROM telemetry_gpu") == [(2,)]


def test_hosts_that_nothing_names_are_not_one(trace: Trace) -> None:
    trace.sample("power_w", 1, host=None, gpu_id="gpu:0")
    trace.sample("power_w", 1, host=None, gpu_id="gpu:0", source_id="b")
    assert trace.ask("SELECT count(DISTINCT gpu_key) FROM telemetry_gpu") == [(2,)]


def test_two_runs_share_no_gpu(trace: Trace) -> None:
    trace.sample("power_w", 1, gpu_id=UUID)
    trace.sample("power_w", 1, gpu_id=UUID, run_id="other")
    assert trace.ask("SELECT count(DISTINCT gpu_key) FROM telemetry_gpu") == [(2,)]


def test_place_and_product(trace: Trace) -> None:
    trace.insert("device", gpu_id="gpu X", name="NVIDIA H100 80GB HBM3", bus_id="0000:1b:00.0")
    trace.insert("host_placement", host="node", rack="r1", power_domain="left")
    trace.sample("power_w", 1)
    columns = "rack, power_domain, gpu_name, bus_id"
    assert trace.ask(f"SELECT {columns} FROM telemetry_gpu") == [
        ("r1", "left", "NVIDIA H100 80GB HBM3", "0000:1b:00.0")
    ]
