from rows import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
SPLIT = """
    SELECT span_ns, compute_ns, exposed_communication_ns, exposed_memory_ns, idle_ns
    FROM nccl_time_share
"""


def test_communication_is_overlapped_and_exposed(trace: Trace) -> None:
    trace.kernel(0, 60, "gemm", stream_id=7)
    trace.kernel(40, 100, NCCL, stream_id=20)
    assert trace.only("FROM nccl_time_share") == {
        "run_id": "run",
        "host": "node",
        "rank": 0,
        "device_id": 0,
        "process": 1,
        "span_ns": 100,
        "busy_ns": 100,
        "idle_ns": 0,
        "kernel_busy_ns": 100,
        "compute_ns": 60,
        "communication_ns": 60,
        "overlap_ns": 20,
        "exposed_communication_ns": 40,
        "exposed_memory_ns": 0,
        "kernel_sum_ns": 120,
        "nccl_sum_ns": 60,
        "kernel_count": 2,
        "nccl_count": 1,
        "nccl_share_of_kernel_time": 0.5,
        "communication_share": 0.6,
        "exposed_communication_share": 0.4,
        "overlap_share": 20 / 60,
        "busy_share": 1.0,
        "idle_share": 0.0,
        "graph_ns": 0,
        "source_id": "a",
    }


def test_the_split_sums_to_the_span(trace: Trace) -> None:
    trace.kernel(0, 30)
    trace.kernel(20, 50, NCCL)
    trace.copy(40, 70)  # 20 of it beside nothing
    trace.kernel(90, 100)
    assert trace.ask(SPLIT) == [(100, 40, 20, 20, 20)]


def test_nested_intervals_count_once(trace: Trace) -> None:
    trace.kernel(0, 100)
    trace.kernel(10, 20)
    trace.kernel(15, 40, NCCL)
    trace.copy(50, 60)
    assert trace.ask(SPLIT) == [(100, 100, 0, 0, 0)]
    assert trace.only("SELECT overlap_ns, kernel_sum_ns FROM nccl_time_share") == {
        "overlap_ns": 25,
        "kernel_sum_ns": 135,
    }


def test_touching_intervals_leave_no_idle_time_and_do_not_overlap(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.kernel(10, 20, NCCL)
    trace.kernel(20, 30)
    assert trace.ask(SPLIT) == [(30, 20, 10, 0, 0)]


def test_a_kernel_of_no_length_is_counted_and_takes_no_time(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.kernel(20, 20)
    trace.kernel(30, 40)
    assert trace.ask("SELECT kernel_count, busy_ns, idle_ns FROM nccl_time_share") == [(3, 20, 20)]


def test_only_work_of_no_length_has_no_shares(trace: Trace) -> None:
    trace.kernel(5, 5)
    assert trace.ask("SELECT span_ns, busy_share, idle_share FROM nccl_time_share") == [
        (0, None, None)
    ]


def test_memory_is_exposed_where_no_kernel_and_no_graph_runs(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.copy(5, 20)  # 10 alone
    trace.graph(20, 30)
    trace.set(25, 40)  # 10 alone
    trace.copy(38, 45)  # 5 more
    assert trace.ask(SPLIT) == [(45, 20, 0, 25, 0)]


def test_graph_launches_count_as_compute_but_not_as_kernels(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.graph(10, 40)
    trace.kernel(30, 60, NCCL, stream_id=20)
    assert trace.only(
        """
        SELECT compute_ns, graph_ns, kernel_busy_ns, overlap_ns, exposed_communication_ns,
            kernel_count
        FROM nccl_time_share
        """
    ) == {
        "compute_ns": 40,
        "graph_ns": 30,
        "kernel_busy_ns": 40,
        "overlap_ns": 10,
        "exposed_communication_ns": 20,
        "kernel_count": 2,
    }


def test_graphs_alone(trace: Trace) -> None:
    trace.graph(0, 10)
    trace.graph(5, 20)
    assert trace.ask("SELECT graph_ns, compute_ns, kernel_busy_ns FROM nccl_time_share") == [
        (20, 20, 0)
    ]


def test_copies_alone(trace: Trace) -> None:
    trace.copy(0, 10)
    assert trace.ask(SPLIT) == [(10, 0, 0, 10, 0)]
    assert trace.ask("SELECT nccl_share_of_kernel_time FROM nccl_time_share") == [(None,)]


def test_without_communication_no_share_of_it_is_overlapped(trace: Trace) -> None:
    trace.kernel(0, 10)
    assert trace.ask("SELECT communication_ns, overlap_share FROM nccl_time_share") == [(0, None)]


def test_two_streams_at_once_are_busy_once(trace: Trace) -> None:
    trace.kernel(0, 10, stream_id=7)
    trace.kernel(0, 10, stream_id=8)
    assert trace.ask("SELECT busy_ns, kernel_sum_ns FROM nccl_time_share") == [(10, 20)]


def test_devices_of_one_process_are_apart(trace: Trace) -> None:
    trace.kernel(0, 10, device_id=0)
    trace.kernel(5, 25, NCCL, device_id=1)
    assert trace.ask("SELECT device_id, span_ns, overlap_ns FROM nccl_time_share") == [
        (0, 10, 0),
        (1, 20, 0),
    ]


def test_processes_that_both_say_device_0_are_apart(trace: Trace) -> None:
    trace.process(1, rank=0)
    trace.process(2, rank=1)
    trace.kernel(0, 10, process=1)
    trace.kernel(5, 25, NCCL, process=2)
    assert trace.ask(
        "SELECT rank, process, device_id, span_ns, overlap_ns FROM nccl_time_share"
    ) == [
        (0, 1, 0, 10, 0),
        (1, 2, 0, 20, 0),
    ]


def test_files_are_apart(trace: Trace) -> None:
    trace.kernel(0, 10, source_id="a")
    trace.kernel(5, 25, NCCL, source_id="b")
    assert trace.ask("SELECT source_id, span_ns, overlap_ns FROM nccl_time_share") == [
        ("a", 10, 0),
        ("b", 20, 0),
    ]


def test_an_unknown_rank_stays_unknown(trace: Trace) -> None:
    trace.process(1, rank=None, host=None)
    trace.kernel()
    assert trace.ask("SELECT host, rank FROM nccl_time_share") == [(None, None)]


def test_a_device_without_work_has_no_row(trace: Trace) -> None:
    trace.device()
    assert trace.ask("FROM nccl_time_share") == []


def test_times_may_be_negative(trace: Trace) -> None:
    trace.kernel(-20, -10)
    trace.kernel(-5, 5)
    assert trace.ask(SPLIT) == [(25, 20, 0, 0, 5)]
