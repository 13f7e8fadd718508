import pytest
from rows import Trace

STEPS = "SELECT step, begin_ns, start_ns, end_ns FROM device_step ORDER BY begin_ns, end_ns"
EXCLUDED = "SELECT exclusion FROM device_step ORDER BY begin_ns"
ORIGIN = "SELECT DISTINCT origin, confidence FROM device_step"


def step(trace: Trace, number: int, host_ns: int, *work: tuple[int, int], **more: object) -> None:
    """A step of 100 ns on the host, in which work is launched, a call every 10 ns. Devices are
    busy until the first one's work."""
    if work and not trace.launch_count:
        start_ns = min(work)[0]
        for device_id in (0, 1):
            trace.kernel(start_ns - 1, start_ns, "earlier", device_id=device_id)
    trace.range(host_ns, host_ns + 100, f"step {number}")
    for place, interval in enumerate(work):
        call_ns = host_ns + 10 * place
        trace.launch((call_ns, call_ns + 5), interval, **more)


def periodic(trace: Trace, *starts: int, **more: int) -> None:
    """Two kernels that begin a step, without any range: 5 ns each, 10 ns apart."""
    trace.threshold("step_period_kernel_count", 2)
    for start_ns in starts:
        trace.kernel(start_ns, start_ns + 5, "one", **more)
        trace.kernel(start_ns + 10, start_ns + 15, "other", **more)


# -- from ranges ---------------------------------------------------------------------------


def test_a_step_begins_where_the_work_of_the_one_before_ends(trace: Trace) -> None:
    step(trace, 7, 0, (1_000, 1_010), (1_030, 1_050))
    step(trace, 8, 100, (1_070, 1_080), (1_090, 1_100))
    assert trace.ask("FROM device_step ORDER BY step") == [
        (1, 7, "step 7", 1_000, 1_000, 1_050, 0, 100, "nvtx", 1, None, 0),
        (1, 8, "step 8", 1_050, 1_070, 1_100, 100, 200, "nvtx", 1, None, 0),
    ]


def test_a_step_ends_at_the_latest_where_the_next_one_s_work_starts(trace: Trace) -> None:
    step(trace, 0, 0, (1_000, 1_500), (1_010, 1_020))
    step(trace, 1, 100, (1_100, 1_200))
    assert trace.ask(STEPS) == [(0, 1_000, 1_000, 1_100), (1, 1_100, 1_100, 1_200)]


def test_work_of_all_threads_counts(trace: Trace) -> None:
    for number in (0, 1):
        trace.range(100 * number, 100 * number + 100, f"step {number}", thread=1)
        at = 1_000 * (number + 1)
        trace.launch((100 * number + 10, 100 * number + 12), (at, at + 10), thread=1)
        trace.launch((100 * number + 50, 100 * number + 52), (at + 20, at + 90), thread=2)
    assert trace.ask(STEPS) == [(0, 0, 1_000, 1_090), (1, 1_090, 2_000, 2_090)]


def test_a_call_at_the_end_of_a_step_belongs_to_the_next(trace: Trace) -> None:
    step(trace, 0, 0, (1_000, 1_010))
    step(trace, 1, 100, (1_020, 1_030))
    assert trace.ask(STEPS) == [(0, 1_000, 1_000, 1_010), (1, 1_010, 1_020, 1_030)]


def test_work_launched_between_steps_delays_the_next(trace: Trace) -> None:
    step(trace, 0, 0, (1_000, 1_010))
    trace.launch((150, 155), (1_100, 1_200), "evaluation")
    step(trace, 1, 200, (1_300, 1_310))
    assert trace.ask(STEPS) == [(0, 1_000, 1_000, 1_010), (1, 1_010, 1_300, 1_310)]


def test_work_before_the_first_and_after_the_last_step_is_in_none(trace: Trace) -> None:
    trace.launch((0, 1), (500, 600))
    step(trace, 0, 100, (1_000, 1_010))
    step(trace, 1, 200, (1_020, 1_030))
    trace.launch((400, 401), (1_100, 1_200))
    assert trace.ask(STEPS) == [(0, 600, 1_000, 1_010), (1, 1_010, 1_020, 1_030)]


# -- where the first begins ----------------------------------------------------------------


def test_the_first_step_begins_with_its_range_where_the_device_waits_for_it(trace: Trace) -> None:
    trace.range(0, 600, "step 0")
    trace.launch((500, 505), (510, 600))
    trace.range(600, 700, "step 1")
    trace.launch((610, 615), (620, 700))
    assert trace.ask(STEPS) == [(0, 0, 510, 600), (1, 600, 620, 700)]


@pytest.mark.parametrize(("earlier_end_ns", "begin_ns"), [(-50, 0), (300, 300), (520, 510)])
def test_but_not_before_earlier_work_is_done(
    trace: Trace, earlier_end_ns: int, begin_ns: int
) -> None:
    trace.kernel(-100, earlier_end_ns, stream_id=8)
    trace.range(0, 600, "step 0")
    trace.launch((500, 505), (510, 600))
    trace.range(600, 700, "step 1")
    trace.launch((610, 615), (620, 700))
    assert trace.ask(STEPS)[0] == (0, begin_ns, 510, 600)


def test_with_clocks_that_disagree_it_begins_with_its_work(trace: Trace) -> None:
    for number, at in enumerate((0, 1_000_000)):
        trace.range(at, at + 900_000, f"step {number}")
        trace.launch((at, at + 10), (at + 500_000, at + 800_000))
        trace.call(at + 20, at + 600_000, "cudaDeviceSynchronize", correlation_id=at)
    assert trace.ask(STEPS)[0] == (0, 500_000, 500_000, 800_000)


def test_a_step_without_work_on_the_device_is_none(trace: Trace) -> None:
    step(trace, 0, 0, (1_000, 1_010))
    step(trace, 1, 100)
    step(trace, 2, 200, (1_020, 1_030))
    assert [row[0] for row in trace.ask(STEPS)] == [0, 2]


def test_copies_sets_and_graphs_are_work(trace: Trace) -> None:
    step(trace, 0, 0, (1_000, 1_010), make=trace.copy)
    step(trace, 1, 100, (1_020, 1_030), make=trace.set)
    step(trace, 2, 200, (1_040, 1_050), make=trace.graph, call_name="cudaGraphLaunch")
    assert [row[0] for row in trace.ask(STEPS)] == [0, 1, 2]


def test_each_device_of_a_process_has_the_steps_of_its_work(trace: Trace) -> None:
    step(trace, 0, 0, (1_000, 1_010), device_id=0)
    step(trace, 1, 100, (1_020, 1_030), device_id=0)
    trace.launch((150, 151), (2_000, 2_010), device_id=1)
    assert trace.ask("SELECT device_key, step, start_ns FROM device_step ORDER BY ALL") == [
        (1, 0, 1_000),
        (1, 1, 1_020),
        (2, 1, 2_000),
    ]


def test_steps_whose_work_starts_at_once(trace: Trace) -> None:
    step(trace, 0, 0, (1_000, 1_010))
    step(trace, 1, 100, (1_030, 1_040))
    step(trace, 2, 200, (1_030, 1_050), stream_id=8)
    assert trace.ask(STEPS) == [
        (0, 1_000, 1_000, 1_010),
        (1, 1_010, 1_030, 1_030),
        (2, 1_030, 1_030, 1_050),
    ]


def test_negative_times(trace: Trace) -> None:
    step(trace, 0, -400, (-300, -290))
    step(trace, 1, -300, (-250, -200))
    assert trace.ask(STEPS) == [(0, -300, -300, -290), (1, -290, -250, -200)]


# -- from the period of kernels ------------------------------------------------------------


def test_without_ranges_kernels_that_return_mark_the_steps(trace: Trace) -> None:
    periodic(trace, 0, 100, 200, 300)
    trace.kernel(130, 150, "once")
    assert trace.ask("FROM device_step ORDER BY step") == [
        (1, 0, None, 0, 0, 15, None, None, "kernel period", pytest.approx(8 / 9 * 3 / 4), None, 0),
        (
            1,
            1,
            None,
            15,
            100,
            150,
            None,
            None,
            "kernel period",
            pytest.approx(8 / 9 * 3 / 4),
            None,
            0,
        ),
        (
            1,
            2,
            None,
            150,
            200,
            215,
            None,
            None,
            "kernel period",
            pytest.approx(8 / 9 * 3 / 4),
            None,
            0,
        ),
        (
            1,
            3,
            None,
            215,
            300,
            315,
            None,
            None,
            "kernel period",
            pytest.approx(8 / 9 * 3 / 4),
            "cut off",
            0,
        ),
    ]


def test_the_last_step_may_be_cut_off(trace: Trace) -> None:
    periodic(trace, 0, 100, 200, 300)
    trace.copy(340, 900)
    assert trace.ask(STEPS)[-1] == (3, 215, 300, 900)
    assert trace.ask(EXCLUDED) == [(None,), (None,), (None,), ("cut off",)]


def test_work_that_reaches_into_the_next_step_ends_there(trace: Trace) -> None:
    periodic(trace, 0, 100, 200, 300)
    trace.kernel(50, 110, "late", stream_id=8)
    assert trace.ask(STEPS)[:2] == [(0, 0, 0, 100), (1, 100, 100, 115)]


@pytest.mark.parametrize("is_copy_first", [False, True])
def test_what_starts_with_a_step_s_first_kernel_is_of_that_step(
    trace: Trace, is_copy_first: bool
) -> None:
    if is_copy_first:
        trace.copy(100, 180, stream_id=8)
    periodic(trace, 0, 100, 200, 300)
    if not is_copy_first:
        trace.copy(100, 180, stream_id=8)
    assert trace.ask(STEPS)[:2] == [(0, 0, 0, 15), (1, 15, 100, 180)]


def test_ranges_count_before_the_period(trace: Trace) -> None:
    periodic(trace, 0, 100, 200, 300)
    step(trace, 0, -1_000, (20, 30))
    step(trace, 1, -900, (220, 230))
    assert trace.ask(ORIGIN) == [("nvtx", 1)]


def test_ranges_in_which_nothing_was_launched_leave_it_to_the_period(trace: Trace) -> None:
    periodic(trace, 0, 100, 200, 300)
    step(trace, 0, -1_000)
    step(trace, 1, -900)
    assert trace.ask(ORIGIN) == [("kernel period", 0.75)]


def test_neither_ranges_nor_a_period(trace: Trace) -> None:
    trace.kernel(0, 10)
    assert trace.ask(STEPS) == []


# -- what summaries leave out --------------------------------------------------------------


def test_slow_steps_at_the_beginning_are_warm_up(trace: Trace) -> None:
    # 400, 200, 100, 100, 100, 300 and 100 ns.
    for number, (start_ns, end_ns) in enumerate(
        [(0, 400), (400, 600), (600, 700), (700, 800), (800, 900), (900, 1_200), (1_200, 1_300)]
    ):
        step(trace, number, 100 * number, (start_ns, end_ns))
    found = [exclusion for (exclusion,) in trace.ask(EXCLUDED)]
    assert found == ["warm-up", "warm-up", None, None, None, None, None]


def test_up_to_one_and_a_half_of_the_median_is_ordinary(trace: Trace) -> None:
    for number, (start_ns, end_ns) in enumerate([(0, 150), (150, 250), (250, 350)]):
        step(trace, number, 100 * number, (start_ns, end_ns))
    assert trace.ask(EXCLUDED) == [(None,), (None,), (None,)]
    trace.threshold("step_warm_up_ratio", 1.4)
    assert trace.ask(EXCLUDED) == [("warm-up",), (None,), (None,)]


def two_steps(trace: Trace) -> None:
    """[1000, 1100) and [1100, 1200)."""
    step(trace, 0, 0, (1_000, 1_100))
    step(trace, 1, 100, (1_150, 1_200))


def test_a_step_of_which_the_profiler_took_more_than_a_tenth(trace: Trace) -> None:
    two_steps(trace)
    trace.overhead(1_080, 1_110)  # 20 ns of the first, 10 of the second
    assert trace.ask(EXCLUDED) == [("profiler",), (None,)]
    trace.threshold("step_profiler_share", 0.2)
    assert trace.ask(EXCLUDED) == [(None,), (None,)]


def test_the_profiler_in_several_threads_at_once_counts_once(trace: Trace) -> None:
    two_steps(trace)
    for thread in (1, 2):
        trace.overhead(1_010, 1_020, thread=thread)
    assert trace.ask(EXCLUDED) == [(None,), (None,)]
    trace.overhead(1_015, 1_021, thread=3)
    assert trace.ask(EXCLUDED) == [("profiler",), (None,)]


def test_several_overheads_add_up(trace: Trace) -> None:
    two_steps(trace)
    trace.overhead(1_110, 1_116)
    trace.overhead(1_120, 1_125)
    assert trace.ask(EXCLUDED) == [(None,), ("profiler",)]


def test_the_profiler_in_another_process_does_not_matter(trace: Trace) -> None:
    two_steps(trace)
    trace.overhead(1_000, 1_200, process=2)
    trace.overhead(1_000, 1_200, source_id="b")
    assert trace.ask(EXCLUDED) == [(None,), (None,)]


def test_the_profiler_counts_before_warm_up_and_cut_off(trace: Trace) -> None:
    periodic(trace, -80, 100, 200, 300)
    trace.kernel(-80, 100, "compiled")
    assert trace.ask(EXCLUDED) == [("warm-up",), (None,), (None,), ("cut off",)]
    trace.overhead(-80, 0)
    trace.overhead(300, 315)
    assert trace.ask(EXCLUDED) == [("profiler",), (None,), (None,), ("profiler",)]


# -- from the training log -----------------------------------------------------------------


def test_steps_of_a_log_are_projected_and_its_ends_cut_off(trace: Trace) -> None:
    second = 1_000_000_000
    file = {"path": "x", "size_bytes": 1, "row_count": 1, "status": "complete"}
    for source_id in ("a", "log"):
        trace.insert("source_file", **{**file, "source_id": source_id, "capture_start_utc_ns": 0})
    for number in range(4):
        row = {"source_id": "log", "framework": "megatron", "kind": "step", "attempt": 1}
        row |= {"line": number, "step": number, "ts_ns": 10 * number * second}
        trace.insert("training_step", **row)
        at = (10 * number + 2) * second
        trace.launch((at, at + 10), (at + second, at + 2 * second))
    assert trace.ask(STEPS) == [
        (1, 3 * second, 3 * second, 4 * second),
        (2, 4 * second, 13 * second, 14 * second),
        (3, 14 * second, 23 * second, 24 * second),
    ]
    assert trace.ask(ORIGIN) == [("training log", 0.9)]
    # Work before the first and after the last says that the capture saw them whole.
    assert trace.ask(EXCLUDED) == [("cut off",), (None,), (None,)]
