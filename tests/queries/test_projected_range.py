from rows import Trace

PROJECTED = """
    SELECT name, work_count, gpu_start_ns, gpu_end_ns FROM projected_range ORDER BY start_ns
"""


def launch(trace: Trace, call_ns: int, start_ns: int, end_ns: int, **call: int) -> None:
    """A kernel that runs in [start_ns, end_ns), launched by a call of 2 ns at call_ns."""
    process = call.get("process", 1)
    trace.call(call_ns, call_ns + 2, correlation_id=call_ns, **call)
    trace.kernel(start_ns, end_ns, correlation_id=call_ns, process=process)


def test_from_the_first_start_to_the_last_end_of_the_work_launched_inside(trace: Trace) -> None:
    trace.range(100, 200)
    launch(trace, 90, 1_000, 1_010)  # before
    launch(trace, 110, 1_020, 1_030)
    launch(trace, 120, 1_060, 1_070)
    launch(trace, 210, 1_080, 1_090)  # after
    assert trace.ask(PROJECTED) == [("step", 2, 1_020, 1_070)]


def test_the_last_end_need_not_be_of_the_last_launch(trace: Trace) -> None:
    trace.range(100, 200)
    launch(trace, 110, 1_000, 1_500)
    launch(trace, 120, 900, 950)
    assert trace.ask(PROJECTED) == [("step", 2, 900, 1_500)]


def test_a_launch_that_begins_with_or_at_the_end_of_a_range_is_inside(trace: Trace) -> None:
    trace.range(100, 200)
    launch(trace, 100, 1_000, 1_010)
    launch(trace, 200, 1_020, 1_030)
    assert trace.ask(PROJECTED) == [("step", 2, 1_000, 1_030)]


def test_nested_and_crossing_ranges_each_have_the_work(trace: Trace) -> None:
    trace.range(100, 200, "outer")
    trace.range(110, 150, "inner")
    trace.range(140, 300, "crossing", kind="start_end")
    launch(trace, 120, 1_000, 1_010)
    launch(trace, 145, 1_020, 1_030)
    launch(trace, 160, 1_040, 1_050)
    assert trace.ask(PROJECTED) == [
        ("outer", 3, 1_000, 1_050),
        ("inner", 2, 1_000, 1_030),
        ("crossing", 2, 1_020, 1_050),
    ]


def test_work_of_another_thread_or_process_is_not_inside(trace: Trace) -> None:
    trace.range(100, 200)
    launch(trace, 110, 1_000, 1_010, thread=2)
    launch(trace, 120, 1_020, 1_030, process=2)
    assert trace.ask(PROJECTED) == [("step", 0, None, None)]


def test_without_work_there_is_no_projection(trace: Trace) -> None:
    trace.range(100, 200)
    launch(trace, 90, 1_000, 1_010)
    launch(trace, 210, 1_000, 1_010)
    assert trace.ask(PROJECTED) == [("step", 0, None, None)]


def test_open_ranges_and_marks_have_no_projection(trace: Trace) -> None:
    trace.range(100, None, "open")
    trace.range(100, None, "mark", kind="mark")
    launch(trace, 110, 1_000, 1_010)
    assert trace.ask(PROJECTED) == []


def test_two_ranges_that_are_alike_are_two(trace: Trace) -> None:
    trace.range(100, 200)
    trace.range(100, 200)
    launch(trace, 110, 1_000, 1_010)
    assert trace.ask(PROJECTED) == [("step", 1, 1_000, 1_010)] * 2


def test_the_kernels_of_a_graph_traced_by_node_are_all_inside(trace: Trace) -> None:
    trace.range(100, 200)
    trace.call(110, 112, "cudaGraphLaunch", correlation_id=1)
    for node in range(3):
        trace.kernel(1_000 + 20 * node, 1_010 + 20 * node, correlation_id=1, graph_node_id=node)
    assert trace.ask(PROJECTED) == [("step", 3, 1_000, 1_050)]


ANY_THREAD = """
    SELECT name, work_count, any_thread_work_count, any_thread_gpu_start_ns,
        any_thread_gpu_end_ns
    FROM projected_range ORDER BY start_ns
"""


def test_a_backward_pass_launched_by_autograd_s_thread(trace: Trace) -> None:
    trace.range(0, 500, "step")
    trace.range(100, 200, "forward")
    trace.range(210, 300, "backward")
    trace.range(230, 240, "MmBackward0", thread=2)
    launch(trace, 110, 1_000, 1_010)
    launch(trace, 220, 1_020, 1_030, thread=2)
    launch(trace, 235, 1_040, 1_050, thread=2)
    launch(trace, 310, 1_060, 1_070)
    assert trace.ask(ANY_THREAD) == [
        ("step", 2, 4, 1_000, 1_070),
        ("forward", 1, 1, 1_000, 1_010),
        ("backward", 0, 2, 1_020, 1_050),
        ("MmBackward0", 1, 1, 1_040, 1_050),
    ]


def test_a_range_that_another_thread_closes(trace: Trace) -> None:
    trace.range(100, 300, kind="start_end", end_thread=2)
    launch(trace, 110, 1_000, 1_010)
    launch(trace, 250, 1_020, 1_030, thread=2)
    assert trace.ask(ANY_THREAD) == [("step", 1, 2, 1_000, 1_030)]


def test_threads_with_a_device_each_do_not_work_for_each_other(trace: Trace) -> None:
    for thread, device_id in ((1, 0), (2, 1)):
        trace.range(100 + thread, 200, f"step of {device_id}", thread=thread)
        trace.call(120 + thread, 130, correlation_id=thread, thread=thread)
        trace.kernel(1_000 * thread, 1_000 * thread + 5, correlation_id=thread,
                     device_id=device_id)  # fmt: skip
    trace.range(110, 200, "of a thread without any", thread=3)
    assert trace.ask(ANY_THREAD) == [
        ("step of 0", 1, 1, 1_000, 1_005),
        ("step of 1", 1, 1, 2_000, 2_005),
        ("of a thread without any", 0, 2, 1_000, 2_005),
    ]


def test_other_processes_and_files_do_not_count(trace: Trace) -> None:
    trace.range(100, 200)
    launch(trace, 110, 1_000, 1_010)
    launch(trace, 120, 1_020, 1_030, process=2)
    trace.call(130, 132, correlation_id=1, source_id="b", thread=2)
    trace.kernel(1_040, 1_050, correlation_id=1, source_id="b")
    assert trace.ask(ANY_THREAD) == [("step", 1, 1, 1_000, 1_010)]
