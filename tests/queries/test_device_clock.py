from rows import Trace


def test_beside_the_other_gpus(trace: Trace) -> None:
    for rank, clocks in enumerate(((1.5e9, 1.3e9), (1.9e9,), (2.0e9,))):
        trace.rank(rank)
        for tick, clock in enumerate(clocks):
            trace.sample("sm_clock_hz", clock, tick, gpu_id=f"gpu {rank + 1}.0")
    rows = trace.ask("FROM device_clock ORDER BY device_key")
    assert rows == [(1, 1.4e9, 1.9e9, 1.4 / 1.9), (2, 1.9e9, 1.9e9, 1), (3, 2e9, 1.9e9, 2 / 1.9)]


def test_one_gpu_alone_has_nothing_beside_it(trace: Trace) -> None:
    trace.rank(0)
    trace.sample("sm_clock_hz", 1.4e9, gpu_id="gpu 1.0")
    trace.sample("power_w", 300, gpu_id="gpu 1.0")
    assert trace.ask("FROM device_clock") == [(1, 1.4e9, None, None)]
