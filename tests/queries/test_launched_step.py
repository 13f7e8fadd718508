from rows import Trace

STEPS = "SELECT device_key, step, start_ns, work_end_ns FROM launched_step ORDER BY ALL"


def test_work_of_all_threads_and_devices_by_the_time_of_its_launch(trace: Trace) -> None:
    for number in range(2):
        trace.range(100 * number, 100 * number + 90, f"step {number}")
    trace.launch((0, 5), (1_000, 1_010))
    trace.launch((89, 95), (1_020, 1_090), thread=2)
    trace.launch((95, 99), (1_090, 1_095))  # between the ranges
    trace.launch((150, 151), (2_000, 2_010), device_id=1)
    assert trace.ask(STEPS) == [(1, 0, 1_000, 1_090), (2, 1, 2_000, 2_010)]
    assert trace.only(
        "SELECT * EXCLUDE (start_ns, work_end_ns) FROM launched_step WHERE step = 0"
    ) | {"device_key": 1} == {
        "device_key": 1,
        "step": 0,
        "name": "step 0",
        "host_start_ns": 0,
        "host_end_ns": 90,
        "origin": "nvtx",
        "confidence": 1,
    }
