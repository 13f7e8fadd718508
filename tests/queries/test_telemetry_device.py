from rows import Trace

UUID = "5a3b0001-0000-4c1d-9e8f-10ad00000100"
ROWS = (
    "SELECT p.device_key, g.gpu_id, matched_by FROM telemetry_device AS p"
    " JOIN telemetry_gpu AS g USING (telemetry_key) ORDER BY ALL"
)


def test_by_uuid(trace: Trace) -> None:
    trace.device(gpu_id=UUID, uuid=UUID)
    trace.sample("power_w", 1, gpu_id=UUID, host="elsewhere", source_id="t")
    trace.sample("power_w", 1, gpu_id="other", source_id="t")
    assert trace.ask(ROWS) == [(1, UUID, "uuid")]


def test_by_bus_id_whatever_the_digits_of_its_domain(trace: Trace) -> None:
    trace.device(gpu_id=UUID, uuid=UUID, bus_id="0000:1b:00.0")
    trace.sample("power_w", 1, gpu_id="00000000:1B:00.0", source_id="t")
    trace.sample("power_w", 1, gpu_id="00000000:1B:00.0", source_id="t", host="elsewhere")
    assert trace.ask(ROWS) == [(1, "00000000:1B:00.0", "bus id")]


def test_by_the_order_of_bus_ids(trace: Trace) -> None:
    trace.file("a", host="node", format="nsys-sqlite")
    # CUDA's device 0 is the second on the bus.
    trace.device(gpu_id="u1", uuid="u1", bus_id="0000:2b:00.0")
    trace.insert("device", gpu_id="u0", bus_id="0000:1b:00.0")
    for index in (0, 1):
        more = {"gpu_id": f"gpu:{index}", "device_id": index, "source_id": "t"}
        trace.sample("power_w", 1, **more)
    assert trace.ask(ROWS) == [(1, "gpu:1", "bus order")]


def test_an_order_needs_every_gpu(trace: Trace) -> None:
    trace.file("a", host="node", format="nsys-sqlite")
    trace.device(gpu_id="u1", uuid="u1", bus_id="0000:2b:00.0")
    for index in (0, 1):
        more = {"gpu_id": f"gpu:{index}", "device_id": index, "source_id": "t"}
        trace.sample("power_w", 1, **more)
    assert trace.ask(ROWS) == []
