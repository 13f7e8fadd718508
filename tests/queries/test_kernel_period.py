from rows import Trace

FOUND = "SELECT step_count, period_ns, name_count, confidence FROM kernel_period"
MARK = "SELECT name FROM kernel_period JOIN classified_kernel_name USING (name_id)"


def steps(trace: Trace, count: int, period_ns: int, *names: str, **more: int) -> None:
    """Each name once a step, 10 ns apart."""
    for step in range(count):
        for place, name in enumerate(names):
            start_ns = step * period_ns + 10 * place
            trace.kernel(start_ns, start_ns + 5, name, **more)


def test_kernels_that_return_together(trace: Trace) -> None:
    steps(trace, 5, 1_000, "embedding", "loss", "adam")
    assert trace.ask(FOUND) == [(5, 1_000, 3, 1)]
    assert trace.ask(MARK) == [("embedding",)]
    assert trace.ask("SELECT device_key FROM kernel_period") == [(1,)]


def test_each_device_has_its_own_period(trace: Trace) -> None:
    steps(trace, 5, 1_000, "one", "other", device_id=0)
    steps(trace, 4, 2_000, "one", "other", device_id=1)
    assert trace.ask("SELECT device_key, step_count FROM kernel_period ORDER BY ALL") == [
        (1, 5),
        (2, 4),
    ]


def test_fewer_than_four_steps_are_not_believed(trace: Trace) -> None:
    steps(trace, 3, 1_000, "one", "other")
    assert trace.ask(FOUND) == []


def test_one_name_alone_is_no_step(trace: Trace) -> None:
    steps(trace, 9, 1_000, "one")
    assert trace.ask(FOUND) == []


def test_distances_that_differ_by_more_than_a_fifth_are_no_period(trace: Trace) -> None:
    for name in ("one", "other"):
        for start_ns in (0, 1_000, 2_300, 3_300, 4_600, 5_600):
            trace.kernel(start_ns, start_ns + 5, name)
    assert trace.ask(FOUND) == []
    trace.threshold("step_period_spread", 0.5)
    assert trace.ask(FOUND) == [(6, 1_000, 2, 1)]


def test_kernels_of_layers_count_towards_the_confidence(trace: Trace) -> None:
    steps(trace, 4, 1_000, "one", "other", *["layer"] * 3)
    trace.kernel(50, 60, "once")
    # 8 of the two, 12 = 3 * 4 of the layers, of 21.
    assert trace.ask(FOUND) == [(4, 1_000, 2, 20 / 21)]


def test_most_of_the_work_must_follow_the_period(trace: Trace) -> None:
    steps(trace, 4, 1_000, "one", "other")
    for place in range(9):
        trace.kernel(40 + 7 * place**3, 50 + 7 * place**3, "now and then")
    assert trace.ask(FOUND) == []  # 8 of 17
    trace.threshold("step_period_confidence", 0.4)
    assert trace.ask(FOUND) == [(4, 1_000, 2, 8 / 17)]


def test_the_steps_must_fill_half_of_the_capture(trace: Trace) -> None:
    steps(trace, 5, 1_000, "one", "other")
    trace.kernel(-5_000, -4_990, "rare")
    trace.kernel(5_000, 5_010, "rare")  # 4 us of 10 us
    assert trace.ask(FOUND) == []


def test_most_names_decide_and_of_as_many_the_fewest_steps(trace: Trace) -> None:
    steps(trace, 8, 1_000, "one", "other")
    steps(trace, 4, 2_000, "every second", "every second too")
    assert trace.ask(FOUND) == [(4, 2_000, 2, 1)]
    steps(trace, 8, 1_000, "a third")
    assert trace.ask(FOUND) == [(8, 1_000, 3, 24 / 32)]


def test_bursts_of_layers_do_not_hide_the_steps(trace: Trace) -> None:
    # Three names that return every 10 ns, twelve times, then wait for the next step.
    for step in range(5):
        for name in ("embedding", "loss"):
            trace.kernel(1_000 * step, 1_000 * step + 5, name)
        for layer in range(12):
            for name in ("norm", "gemm", "gelu"):
                start_ns = 1_000 * step + 100 + 10 * layer
                trace.kernel(start_ns, start_ns + 5, name)
    assert trace.ask(FOUND) == [(5, 1_000, 2, 1)]


def test_kernels_that_all_start_at_once_have_no_period(trace: Trace) -> None:
    for name in ("one", "other"):
        for stream_id in range(5):
            trace.kernel(0, 10, name, stream_id=stream_id)
    assert trace.ask(FOUND) == []


def test_only_kernels_count(trace: Trace) -> None:
    for start_ns in range(0, 5_000, 1_000):
        trace.copy(start_ns, start_ns + 5)
        trace.set(start_ns, start_ns + 5)
        trace.graph(start_ns, start_ns + 5)
    assert trace.ask(FOUND) == []


def test_negative_times(trace: Trace) -> None:
    for step in range(-4, 1):
        for name in ("one", "other"):
            trace.kernel(1_000 * step, 1_000 * step + 5, name)
    assert trace.ask(FOUND) == [(5, 1_000, 2, 1)]
