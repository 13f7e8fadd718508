from rows import Trace

GAPS = "SELECT start_ns, end_ns, dur_ns FROM kernel_gap"
AROUND = "SELECT before_kind, before_name, after_kind, after_name FROM kernel_gap"


def test_a_gap_lies_between_two_activities(trace: Trace) -> None:
    trace.device(gpu_id="gpu X")
    trace.kernel(0, 1_000, "gemm")
    trace.copy(21_000, 22_000, kind="DtoH")
    assert trace.only("FROM kernel_gap") == {
        "run_id": "run",
        "host": "node",
        "rank": 0,
        "device_id": 0,
        "process": 1,
        "gpu_id": "gpu X",
        "start_ns": 1_000,
        "end_ns": 21_000,
        "dur_ns": 20_000,
        "before_kind": "kernel",
        "before_name": "gemm",
        "after_kind": "memory_copy",
        "after_name": "DtoH",
        "source_id": "a",
    }


def test_a_gap_is_at_least_10_us(trace: Trace) -> None:
    trace.kernel(0, 1_000)
    trace.kernel(10_999, 12_000)  # 9 999 ns later
    trace.kernel(22_000, 23_000)  # 10 000 ns later
    assert trace.ask(GAPS) == [(12_000, 22_000, 10_000)]


def test_the_threshold_can_be_overridden(trace: Trace) -> None:
    trace.threshold("kernel_gap_ns", 5)
    trace.kernel(0, 10)
    trace.kernel(14, 20)
    trace.kernel(25, 30)
    assert trace.ask(GAPS) == [(20, 25, 5)]


def test_threshold_0_gives_every_idle_interval_but_none_between_touching_ones(trace: Trace) -> None:
    trace.threshold("kernel_gap_ns", 0)
    trace.kernel(0, 10)
    trace.kernel(10, 20)
    trace.kernel(21, 30)
    assert trace.ask(GAPS) == [(20, 21, 1)]


def test_an_earlier_long_kernel_closes_the_gap(trace: Trace) -> None:
    trace.kernel(0, 50_000)
    trace.kernel(1_000, 2_000, stream_id=8)
    trace.kernel(40_000, 41_000, stream_id=8)
    assert trace.ask(GAPS) == []


def test_neighbours_that_have_no_name(trace: Trace) -> None:
    trace.set(0, 10)
    trace.graph(20_010, 20_020)
    assert trace.ask(AROUND) == [("memory_set", None, "graph_launch", None)]


def test_of_two_that_end_at_once_the_one_that_started_last_is_named(trace: Trace) -> None:
    trace.kernel(0, 100, "long")
    trace.kernel(50, 100, "short", stream_id=8)
    trace.kernel(20_100, 20_200, "next")
    assert trace.ask(AROUND) == [("kernel", "short", "kernel", "next")]


def test_two_that_start_at_once_end_one_gap(trace: Trace) -> None:
    trace.kernel(0, 100)
    trace.kernel(20_100, 20_200, stream_id=7)
    trace.copy(20_100, 20_300, stream_id=8)
    assert trace.ask(GAPS) == [(100, 20_100, 20_000)]


def test_which_of_them_is_named_does_not_depend_on_the_order_of_rows(trace: Trace) -> None:
    for device_id, names in enumerate((("one", "other"), ("other", "one"))):
        trace.kernel(0, 100, device_id=device_id)
        for name in names:
            trace.kernel(20_100, 20_200, name, device_id=device_id)
    ((first,), (second,)) = trace.ask("SELECT after_name FROM kernel_gap ORDER BY device_id")
    assert first == second


def test_work_of_another_process_on_the_same_gpu_closes_the_gap(trace: Trace) -> None:
    trace.device(1, gpu_id="shared")
    trace.device(2, gpu_id="shared")
    trace.kernel(0, 1_000, process=1)
    trace.kernel(1_000, 50_000, process=2)
    trace.kernel(50_000, 51_000, process=1)
    assert trace.ask(GAPS) == []


def test_a_gap_belongs_to_the_process_whose_work_ends_it(trace: Trace) -> None:
    trace.process(1, rank=0)
    trace.process(2, rank=1)
    trace.device(1, device_id=0, gpu_id="shared")
    trace.device(2, device_id=1, gpu_id="shared")
    trace.kernel(0, 1_000, process=1)
    trace.kernel(30_000, 31_000, process=2, device_id=1)
    assert trace.ask("SELECT rank, process, device_id, dur_ns FROM kernel_gap") == [
        (1, 2, 1, 29_000)
    ]


def test_another_gpu_closes_no_gap(trace: Trace) -> None:
    trace.kernel(0, 1_000, device_id=0)
    trace.kernel(0, 30_000, device_id=1)
    trace.kernel(30_000, 31_000, device_id=0)
    assert trace.ask("SELECT device_id, dur_ns FROM kernel_gap") == [(0, 29_000)]


def test_the_same_gpu_in_another_file_closes_no_gap(trace: Trace) -> None:
    trace.device(gpu_id="one", source_id="a")
    trace.device(gpu_id="one", source_id="b")
    trace.kernel(0, 1_000, source_id="a")
    trace.kernel(0, 30_000, source_id="b")
    trace.kernel(30_000, 31_000, source_id="a")
    assert trace.ask("SELECT source_id, dur_ns FROM kernel_gap") == [("a", 29_000)]


def test_an_activity_of_no_length_splits_a_gap(trace: Trace) -> None:
    trace.kernel(0, 1_000)
    trace.kernel(21_000, 21_000, "empty")
    trace.kernel(51_000, 52_000)
    assert trace.ask(GAPS) == [(1_000, 21_000, 20_000), (21_000, 51_000, 30_000)]
