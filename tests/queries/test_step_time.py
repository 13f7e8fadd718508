from typing import Any

import pytest
from rows import Trace


def step(trace: Trace, number: int, *work: tuple[str, int, int], **more: Any) -> None:
    """A step that launches this work: a kernel's name or copy, set or graph, start and end.
    The device is busy until the first one's work."""
    host_ns = 100 * number - 10_000
    if work and not trace.launch_count:
        start_ns = min(start_ns for _, start_ns, _ in work)
        trace.kernel(start_ns - 1, start_ns, "earlier", **more)
    trace.range(host_ns, host_ns + 100, f"step {number}")
    make = {"copy": trace.copy, "set": trace.set, "graph": trace.graph}
    for name, start_ns, end_ns in work:
        call, interval = (host_ns + 1, host_ns + 2), (start_ns, end_ns)
        trace.launch(call, interval, name, make=make.get(name), **more)


def times(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {', '.join(columns)} FROM step_time ORDER BY device_id, step")


def test_the_split_of_a_step(trace: Trace) -> None:
    trace.process(rank=3, host="node")
    trace.threshold("kernel_gap_ns", 10)
    step(trace, 4, ("gemm", 0, 100))
    step(
        trace,
        5,
        ("gemm", 120, 160),  # after 20 ns of idle time
        ("ncclAllReduce", 140, 200),  # 20 ns beside the first, 40 exposed
        ("copy", 190, 220),  # 20 ns exposed
        ("graph", 225, 300),  # after 5 ns
    )
    assert trace.only("FROM step_time WHERE step = 5") == {
        "run_id": "run",
        "host": "node",
        "rank": 3,
        "device_id": 0,
        "process": 1,
        "step": 5,
        "name": "step 5",
        "origin": "nvtx",
        "confidence": 1,
        "exclusion": None,
        "begin_ns": 100,
        "step_ns": 200,
        "busy_ns": 175,
        "idle_ns": 25,
        "lead_in_ns": 0,
        "gap_ns": 20,
        "compute_ns": 115,
        "communication_ns": 60,
        "overlap_ns": 20,
        "exposed_communication_ns": 40,
        "exposed_memory_ns": 20,
        "kernel_sum_ns": 100,
        "nccl_sum_ns": 60,
        "kernel_count": 2,
        "nccl_count": 1,
        "nccl_share_of_kernel_time": 0.6,
        "communication_share": 0.3,
        "exposed_communication_share": 0.2,
        "idle_share": 0.125,
        "tokens": None,
        "tokens_per_s": None,
        "tokens_source": None,
        "reason": None,
        "source_id": "a",
    }


def test_the_first_step_begins_with_its_work(trace: Trace) -> None:
    step(trace, 0, ("gemm", 50, 60))
    step(trace, 1, ("gemm", 80, 90))
    assert times(trace, "begin_ns", "step_ns", "idle_ns") == [(50, 10, 0), (60, 30, 20)]


def test_steps_sum_to_the_time_from_the_first_to_the_last(trace: Trace) -> None:
    for number, start_ns in enumerate((0, 70, 200)):
        step(trace, number, ("gemm", start_ns, start_ns + 50), ("copy", start_ns, start_ns + 60))
    assert trace.ask("SELECT sum(step_ns), sum(busy_ns), sum(idle_ns) FROM step_time") == [
        (260, 180, 80)
    ]


def test_a_kernel_that_reaches_into_the_next_step_is_in_both_but_counts_once(trace: Trace) -> None:
    step(trace, 0, ("gemm", 0, 100), ("ncclAllReduce", 50, 180))
    step(trace, 1, ("gemm", 150, 200))
    columns = ("step_ns", "communication_ns", "overlap_ns", "exposed_communication_ns")
    assert times(trace, *columns, "kernel_sum_ns", "nccl_sum_ns", "kernel_count", "nccl_count") == [
        (150, 100, 50, 50, 200, 100, 2, 1),
        (50, 30, 30, 0, 80, 30, 1, 0),
    ]


def test_gaps_at_the_begin_of_a_step_and_inside(trace: Trace) -> None:
    step(trace, 0, ("gemm", 0, 1_000))
    step(trace, 1, ("gemm", 11_000, 12_000), ("gemm", 21_999, 23_000), ("gemm", 40_000, 41_000))
    # 10 000 and 17 000 ns; the 9 999 ns between them are no gap.
    assert times(trace, "gap_ns", "idle_ns") == [(0, 0), (27_000, 36_999)]


def test_a_gap_at_the_begin_below_the_threshold(trace: Trace) -> None:
    step(trace, 0, ("gemm", 0, 1_000))
    step(trace, 1, ("gemm", 10_999, 12_000))
    assert times(trace, "gap_ns", "idle_ns") == [(0, 0), (0, 9_999)]


def test_a_gap_at_the_end_of_a_step_that_the_next_one_cuts_off(trace: Trace) -> None:
    trace.threshold("kernel_gap_ns", 20)
    step(trace, 0, ("gemm", 0, 10), ("gemm", 100, 110))
    step(trace, 1, ("gemm", 30, 40))
    # The first ends where the second one's work starts, the second where all of its own ends.
    assert times(trace, "begin_ns", "step_ns", "idle_ns", "gap_ns") == [
        (0, 30, 20, 20),
        (30, 10, 0, 0),
    ]


def test_copies_alone(trace: Trace) -> None:
    step(trace, 0, ("copy", 0, 30), ("set", 20, 40))
    step(trace, 1, ("copy", 40, 50))
    columns = ("busy_ns", "exposed_memory_ns", "kernel_sum_ns", "kernel_count")
    assert times(trace, *columns, "nccl_share_of_kernel_time") == [
        (40, 40, 0, 0, None),
        (10, 10, 0, 0, None),
    ]


def test_a_copy_under_a_kernel_or_a_graph_is_not_exposed(trace: Trace) -> None:
    step(trace, 0, ("gemm", 0, 30), ("copy", 10, 20), ("graph", 30, 60), ("set", 50, 60))
    step(trace, 1, ("gemm", 60, 70))
    assert times(trace, "exposed_memory_ns") == [(0,), (0,)]


def test_a_step_whose_work_starts_with_the_next_one_s_is_all_wait(trace: Trace) -> None:
    trace.threshold("kernel_gap_ns", 20)
    step(trace, 0, ("gemm", 0, 10))
    step(trace, 1, ("gemm", 30, 40))
    step(trace, 2, ("gemm", 30, 50), stream_id=8)
    columns = ("step_ns", "busy_ns", "idle_ns", "gap_ns", "idle_share", "kernel_count")
    assert times(trace, "step", *columns) == [
        (0, 10, 10, 0, 0, 0, 1),
        (1, 20, 0, 20, 20, 1, 0),
        (2, 20, 20, 0, 0, 0, 2),
    ]


def test_a_step_of_no_length_has_no_shares(trace: Trace) -> None:
    step(trace, 0, ("gemm", 0, 10))
    step(trace, 1, ("gemm", 10, 20))
    step(trace, 2, ("gemm", 10, 20), stream_id=8)
    assert times(trace, "step_ns", "idle_ns", "idle_share") == [
        (10, 0, 0),
        (0, 0, None),
        (10, 0, 0),
    ]


def test_steps_by_period_say_so(trace: Trace) -> None:
    trace.threshold("step_period_kernel_count", 2)
    for start_ns in (0, 100, 200, 300):
        trace.kernel(start_ns, start_ns + 10, "one")
        trace.kernel(start_ns + 10, start_ns + 20, "other")
    assert times(trace, "step", "name", "origin", "confidence", "exclusion", "step_ns") == [
        (0, None, "kernel period", 0.75, None, 20),
        (1, None, "kernel period", 0.75, None, 100),
        (2, None, "kernel period", 0.75, None, 100),
        (3, None, "kernel period", 0.75, "cut off", 100),
    ]


def test_devices_of_a_process_are_rows_of_their_own(trace: Trace) -> None:
    step(trace, 0, ("gemm", 0, 10))
    step(trace, 1, ("gemm", 20, 30))
    trace.kernel(-1, 0, device_id=1)
    trace.launch((-9_990, -9_980), (0, 10), device_id=1)
    trace.launch((-9_890, -9_880), (20, 31), device_id=1)
    assert times(trace, "device_id", "step", "step_ns") == [
        (0, 0, 10),
        (0, 1, 20),
        (1, 0, 10),
        (1, 1, 21),
    ]


@pytest.mark.parametrize("process", [1, 2])
def test_another_process_on_the_same_gpu_is_not_in_the_step(trace: Trace, process: int) -> None:
    trace.device(1, gpu_id="shared")
    trace.device(2, gpu_id="shared")
    step(trace, 0, ("gemm", 0, 10))
    step(trace, 1, ("gemm", 30, 40))
    trace.kernel(10, 30, process=process)
    assert times(trace, "idle_ns") == ([(0,), (0,)] if process == 1 else [(0,), (20,)])


def test_the_lead_in_of_the_first_step_is_idle_but_no_gap(trace: Trace) -> None:
    trace.range(0, 30_000, "step 0")
    trace.launch((20_000, 20_010), (20_020, 30_000))
    trace.range(30_000, 40_000, "step 1")
    trace.launch((30_000, 30_010), (30_020, 40_000))
    columns = ("begin_ns", "step_ns", "idle_ns", "lead_in_ns", "gap_ns")
    assert times(trace, *columns) == [
        (0, 30_000, 20_020, 20_020, 0),
        (30_000, 10_000, 20, 0, 0),
    ]


# -- tokens, and logs ----------------------------------------------------------------------


def log(trace: Trace, *lines: tuple[int, int], **more: Any) -> None:
    """Lines of a log: number of the step and its time, with batches of 4."""
    for number, (at, step_ns) in enumerate(lines):
        row = {"source_id": "log", "framework": "megatron", "kind": "step", "attempt": 1}
        row |= {"line": number, "step": at, "step_ns": step_ns, "global_batch_size": 4}
        trace.insert("training_step", **{**row, **more})


TOKENS = ("step", "step_ns", "tokens", "tokens_per_s", "tokens_source")


def test_tokens_of_a_step_by_the_log_s_line_of_the_same_number(trace: Trace) -> None:
    trace.description("model.sequence_length", "100", value_number=100)
    log(trace, (1, 99))
    step(trace, 0, ("gemm", 0, 10))
    step(trace, 1, ("gemm", 10, 50))
    assert times(trace, *TOKENS) == [
        (0, 10, None, None, None),
        (1, 40, 400, 1e10, "training log"),
    ]


def test_tokens_by_batch_and_sequence_length(trace: Trace) -> None:
    trace.description("model.sequence_length", "100", value_number=100)
    trace.description("training.global_batch_size", "8", value_number=8)
    step(trace, 0, ("gemm", 0, 10))
    step(trace, 1, ("gemm", 10, 50))
    assert times(trace, *TOKENS) == [
        (0, 10, 800, 8e10, "run_fact"),
        (1, 40, 800, 2e10, "run_fact"),
    ]


def test_a_run_with_logs_only(trace: Trace) -> None:
    trace.description("model.sequence_length", "100", value_number=100)
    log(trace, (5, 1_000), (6, 200), printed_rank=7)
    log(trace, (6, 400), attempt=2, printed_rank=7)
    columns = (*TOKENS, "rank", "origin", "exclusion", "idle_ns", "reason")
    why = "the run has no GPU trace"
    assert times(trace, *columns) == [
        (5, 1_000, 400, 4e8, "training log", 7, "training log", "warm-up", None, why),
        (6, 400, 400, 1e9, "training log", 7, "training log", "warm-up", None, why),
    ]


def test_a_log_beside_a_gpu_trace_without_steps_says_why_it_does_not_help(trace: Trace) -> None:
    trace.kernel(0, 10)
    log(trace, (5, 1_000))
    assert times(trace, "step", "reason") == [
        (5, "the log has no time in UTC: telemetry.utc_offset in run.toml")
    ]
