from rows import Trace


def launch(trace: Trace, call_ns: int, start_ns: int, end_ns: int, thread: int = 1) -> None:
    trace.call(call_ns, call_ns + 2, correlation_id=call_ns, thread=thread)
    trace.kernel(start_ns, end_ns, correlation_id=call_ns)


def test_time_on_the_host_and_on_the_gpu(trace: Trace) -> None:
    trace.range(0, 100, "forward")
    trace.range(200, 240, "forward")
    launch(trace, 10, 1_000, 1_010)
    launch(trace, 20, 1_050, 1_070)
    assert trace.only("FROM nvtx_summary") == {
        "run_id": "run",
        "host": "node",
        "rank": 0,
        "process": 1,
        "domain": None,
        "name": "forward",
        "kind": "push_pop",
        "range_count": 2,
        "open_count": 0,
        "total_ns": 140,
        "min_ns": 40,
        "median_ns": 70,
        "max_ns": 100,
        "projected_count": 1,
        "work_count": 2,
        "projected_ns": 70,
        "any_thread_work_count": 2,
        "any_thread_projected_ns": 70,
        "source_id": "a",
    }


def test_marks_and_open_ranges_have_no_duration(trace: Trace) -> None:
    trace.range(0, None, "saved", kind="mark")
    trace.range(5, None, "saved", kind="mark")
    trace.range(0, None, "epoch")
    trace.range(10, 30, "epoch")
    rows = trace.ask(
        "SELECT name, kind, range_count, open_count, total_ns, max_ns FROM nvtx_summary"
    )
    assert rows == [("epoch", "push_pop", 1, 1, 20, 20), ("saved", "mark", 2, 0, 0, None)]


def test_a_range_that_was_only_ever_open(trace: Trace) -> None:
    trace.range(0, None, "epoch")
    rows = trace.ask(
        "SELECT range_count, open_count, total_ns, median_ns, projected_ns FROM nvtx_summary"
    )
    assert rows == [(0, 1, 0, None, 0)]


def test_nested_ranges_count_in_each(trace: Trace) -> None:
    trace.range(0, 100, "outer")
    trace.range(10, 50, "inner")
    launch(trace, 20, 1_000, 1_010)
    launch(trace, 60, 1_020, 1_040)
    assert trace.ask("SELECT name, total_ns, work_count, projected_ns FROM nvtx_summary") == [
        ("outer", 100, 2, 40),
        ("inner", 40, 1, 10),
    ]


def test_work_of_another_thread_is_projected_apart(trace: Trace) -> None:
    trace.range(0, 100, "backward")
    launch(trace, 20, 1_000, 1_010, thread=2)
    launch(trace, 30, 1_050, 1_070, thread=2)
    assert trace.only(
        "SELECT projected_count, work_count, projected_ns, any_thread_work_count,"
        " any_thread_projected_ns FROM nvtx_summary"
    ) == {
        "projected_count": 0,
        "work_count": 0,
        "projected_ns": 0,
        "any_thread_work_count": 2,
        "any_thread_projected_ns": 70,
    }


def test_the_same_correlation_id_in_another_process_is_another_launch(trace: Trace) -> None:
    trace.range(0, 100, process=1)
    trace.call(10, 12, process=1, correlation_id=1)
    trace.kernel(1_000, 1_010, process=1, correlation_id=1)
    trace.call(20, 22, process=2, correlation_id=1)
    trace.kernel(5_000, 5_010, process=2, correlation_id=1)
    assert trace.ask("SELECT work_count, projected_ns FROM nvtx_summary") == [(1, 10)]


def test_what_pytorch_adds_to_a_name_does_not_split_it(trace: Trace) -> None:
    trace.range(0, 10, "aten::mm, seq = 1, op_id = 2")
    trace.range(20, 30, "aten::mm, seq = 3, op_id = 4")
    assert trace.ask("SELECT name, range_count FROM nvtx_summary") == [("aten::mm", 2)]


def test_domains_and_kinds_are_apart(trace: Trace) -> None:
    trace.insert("nvtx_domain", process=1, domain_id=5, name="NCCL")
    trace.range(0, 30, "x")
    trace.range(0, 20, "x", domain_id=5)
    trace.range(0, 10, "x", kind="start_end")
    assert trace.ask("SELECT domain, kind, total_ns FROM nvtx_summary") == [
        (None, "push_pop", 30),
        ("NCCL", "push_pop", 20),
        (None, "start_end", 10),
    ]


def test_a_range_without_process_and_name_is_kept(trace: Trace) -> None:
    trace.insert("nvtx_range", start_ns=0, end_ns=10, kind="push_pop")
    trace.insert("nvtx_range", start_ns=0, end_ns=None, kind="push_pop")
    assert trace.ask("SELECT process, name, range_count, open_count FROM nvtx_summary") == [
        (None, None, 1, 1)
    ]
