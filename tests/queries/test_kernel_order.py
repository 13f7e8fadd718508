from rows import Trace

ORDER = "SELECT device_key, start_ns, place FROM kernel_order ORDER BY ALL"


def test_places_by_start_on_each_device(trace: Trace) -> None:
    trace.kernel(20, 30)
    trace.kernel(0, 10)
    trace.kernel(5, 8, device_id=1)
    assert trace.ask(ORDER) == [(1, 0, 1), (1, 20, 2), (2, 5, 1)]


def test_a_shape_is_name_and_grid(trace: Trace) -> None:
    for start_ns, (name, grid) in enumerate([("gemm", 1), ("gemm", 2), ("gelu", 1), ("gemm", 1)]):
        trace.kernel(start_ns, start_ns, name, grid_x=grid)
    shapes = [shape for (shape,) in trace.ask("SELECT shape FROM kernel_order ORDER BY place")]
    assert len(set(shapes)) == 3 and shapes[0] == shapes[3]


def test_devices_with_steps_are_left_out(trace: Trace) -> None:
    for number in range(2):
        trace.range(10 * number, 10 * number + 10, f"step {number}")
        trace.launch((10 * number, 10 * number + 1), (10 * number, 10 * number + 5))
    trace.kernel(0, 10, device_id=1)
    assert trace.ask(ORDER) == [(2, 0, 1)]
