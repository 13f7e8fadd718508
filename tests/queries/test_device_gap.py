from rows import Trace

GAPS = "SELECT start_ns, end_ns, dur_ns FROM device_gap ORDER BY start_ns"


def test_a_gap_and_what_lies_around_it(trace: Trace) -> None:
    trace.device(1, gpu_id="shared")
    trace.device(2, gpu_id="shared")
    trace.copy(0, 1_000, kind="DtoH", stream_id=3)
    trace.graph(21_000, 22_000, process=2, stream_id=5, correlation_id=77)
    assert trace.ask("FROM device_gap") == [
        (
            1,
            1_000,
            21_000,
            20_000,
            {"kind": "memory_copy", "name_id": None, "detail": "DtoH", "stream_id": 3},
            {
                "kind": "graph_launch",
                "name_id": None,
                "detail": None,
                "stream_id": 5,
                "device_key": 2,
                "correlation_id": 77,
            },
        )
    ]


def test_the_threshold(trace: Trace) -> None:
    trace.kernel(0, 1_000)
    trace.kernel(10_999, 12_000)  # 9 999 ns later
    trace.kernel(22_000, 23_000)  # 10 000 ns later
    assert trace.ask(GAPS) == [(12_000, 22_000, 10_000)]
    trace.threshold("kernel_gap_ns", 9_999)
    assert trace.ask(GAPS) == [(1_000, 10_999, 9_999), (12_000, 22_000, 10_000)]


def test_of_several_around_a_gap_the_nearest_are_named(trace: Trace) -> None:
    trace.kernel(0, 1_000, stream_id=1)
    trace.kernel(500, 1_000, stream_id=2)
    trace.kernel(21_000, 23_000, stream_id=3)
    trace.kernel(21_000, 22_000, stream_id=4)
    assert trace.ask("SELECT before.stream_id, after.stream_id FROM device_gap") == [(2, 4)]


def test_each_gpu_has_its_own(trace: Trace) -> None:
    for device_id in (0, 1):
        trace.kernel(0, 1_000, device_id=device_id)
        trace.kernel(21_000 + device_id, 22_000, device_id=device_id)
    assert trace.ask("SELECT gpu_key, dur_ns FROM device_gap ORDER BY gpu_key") == [
        (1, 20_000),
        (2, 20_001),
    ]


def test_negative_times(trace: Trace) -> None:
    trace.kernel(-30_000, -20_000)
    trace.kernel(-5_000, 0)
    assert trace.ask(GAPS) == [(-20_000, -5_000, 15_000)]
