from rows import Trace

COLUMNS = "window_index, gpu_count, run_gpu_count, mean_value, min_value, max_value"


def test_over_time_and_over_gpus(trace: Trace) -> None:
    trace.threshold("activity_window_count", 2)
    trace.rounds(power_w=[100, 100, 300, 300], gpu_id="X")
    trace.rounds(power_w=[200, 200, None, None], gpu_id="Y")
    assert trace.ask(f"SELECT {COLUMNS} FROM utilisation_window") == [
        (0, 2, 2, 150, 100, 200),
        (1, 1, 2, 300, 300, 300),
    ]


def test_sources_without_a_clock_are_apart(trace: Trace) -> None:
    trace.sample("power_w", 1, 5, gpu_id="X")
    trace.sample("power_w", 2, 5, gpu_id="Y", source_id="b")
    clocks = "SELECT clock, mean_value FROM utilisation_window"
    assert trace.ask(clocks) == [("source a", 1), ("source b", 2)]
