from rows import Trace

CAUSES = """
    SELECT step, cause, part_count, total_ns FROM kernel_gap_cause
    ORDER BY gpu_id, step NULLS FIRST, cause
"""


def steps(trace: Trace, *work: tuple[int, int]) -> None:
    """One kernel a step, launched long before."""
    for number, interval in enumerate(work):
        host_ns = 100 * number - 1_000_000
        trace.range(host_ns, host_ns + 100, f"step {number}")
        trace.launch((host_ns, host_ns + 1), interval)


def test_everything(trace: Trace) -> None:
    trace.device(gpu_id="gpu X")
    trace.kernel(0, 1_000)
    trace.call(1_000, 6_000, "cudaMalloc")
    trace.call(7_000, 10_000, "cudaFree")
    trace.call(10_000, 14_000, "cudaMalloc")
    trace.launch((18_000, 21_000), (21_000, 22_000))
    trace.kernel(26_000, 27_000, "orphan")
    assert trace.only("FROM kernel_gap_cause WHERE cause = 'memory_management'") == {
        "run_id": "run",
        "host": "node",
        "gpu_id": "gpu X",
        "rank": 0,
        "device_id": 0,
        "process": 1,
        "step": None,
        "exclusion": None,
        "cause": "memory_management",
        "part_count": 3,
        "total_ns": 12_000,
        "idle_share": 0.5,
        "longest_ns": 5_000,
        "responsible": "cudaMalloc",
        "responsible_ns": 9_000,
        "source_id": "a",
    }
    assert trace.ask(CAUSES) == [
        (None, "launch_call", 1, 3_000),
        (None, "memory_management", 3, 12_000),
        (None, "other_host", 2, 5_000),
        (None, "short_gap", 1, 4_000),
    ]


def test_all_idle_time_has_a_cause(trace: Trace) -> None:
    for start_ns in (0, 5_000, 40_000, 41_000, 90_000):
        trace.kernel(start_ns, start_ns + 1_000)
    (idle_ns,) = trace.ask("SELECT idle_ns FROM nccl_time_share")
    assert trace.ask("SELECT sum(total_ns), sum(idle_share) FROM kernel_gap_cause") == [
        (*idle_ns, 1)
    ]
    assert trace.ask(CAUSES) == [(None, "short_gap", 1, 4_000), (None, "unknown", 2, 82_000)]


def test_without_idle_time_there_is_no_cause(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.kernel(10, 20)
    assert trace.ask(CAUSES) == []


def test_a_gap_delays_the_step_whose_work_ends_it(trace: Trace) -> None:
    steps(trace, (0, 1_000), (21_000, 22_000), (25_000, 26_000))
    assert trace.ask(CAUSES) == [(1, "dependency", 1, 20_000), (2, "short_gap", 1, 3_000)]


def test_gaps_before_the_first_and_after_the_last_step_are_outside(trace: Trace) -> None:
    trace.kernel(-1_050_000, -1_040_000)
    steps(trace, (0, 1_000), (2_000, 3_000))
    trace.kernel(20_000, 21_000)
    trace.kernel(22_000, 23_000)
    # The first step begins with its range, at -1 000 000: in the middle of a gap.
    assert trace.ask(CAUSES) == [
        (None, "other_host", 1, 40_000),
        (None, "short_gap", 1, 1_000),
        (None, "unknown", 1, 17_000),
        (0, "dependency", 1, 999_999),
        (0, "launch_call", 1, 1),
        (1, "short_gap", 1, 1_000),
    ]
    assert trace.ask("SELECT step, idle_ns FROM step_time ORDER BY step") == [
        (0, 1_000_000),
        (1, 1_000),
    ]


def test_by_step_it_is_the_step_s_idle_time(trace: Trace) -> None:
    steps(trace, (0, 1_000), (21_000, 22_000), (25_000, 26_000))
    assert trace.ask(
        "SELECT step, idle_ns FROM step_time WHERE idle_ns > lead_in_ns ORDER BY step"
    ) == [
        (1, 20_000),
        (2, 3_000),
    ]


def test_a_step_that_is_all_wait_and_one_of_no_length(trace: Trace) -> None:
    # Steps 1, 2 and 3 start at once: the first has the wait, the second nothing.
    steps(trace, (0, 1_000), (21_000, 22_000), (21_000, 23_000), (21_000, 24_000))
    assert trace.ask(CAUSES) == [(1, "dependency", 1, 20_000)]
    steps(trace)
    trace.kernel(30_000, 31_000)
    assert trace.ask(CAUSES) == [(None, "short_gap", 1, 6_000), (1, "dependency", 1, 20_000)]


def test_the_step_s_exclusion_stands_beside_it(trace: Trace) -> None:
    steps(trace, (0, 1_000), (21_000, 22_000), (25_000, 26_000))
    trace.overhead(15_000, 20_000)
    assert trace.ask("SELECT step, exclusion FROM kernel_gap_cause ORDER BY step") == [
        (1, "profiler"),
        (2, None),
    ]


def test_of_as_much_time_the_last_name_is_responsible(trace: Trace) -> None:
    trace.kernel(0, 1_000)
    trace.call(1_000, 6_000, "cudaFree")
    trace.call(6_000, 11_000, "cudaMalloc")
    trace.launch((19_000, 21_000), (21_000, 22_000))
    sql = "SELECT responsible, responsible_ns FROM kernel_gap_cause"
    assert trace.ask(f"{sql} WHERE cause = 'memory_management'") == [("cudaMalloc", 5_000)]
    assert trace.ask(f"{sql} WHERE cause = 'other_host'") == [(None, None)]


def test_threshold_0_leaves_no_short_gaps(trace: Trace) -> None:
    trace.threshold("kernel_gap_ns", 0)
    steps(trace, (0, 10), (30, 40))
    assert trace.ask(CAUSES) == [(1, "dependency", 1, 20)]


def test_processes_that_share_a_gpu_share_its_idle_time(trace: Trace) -> None:
    for process in (1, 2):
        trace.device(process, gpu_id="shared")
    trace.kernel(0, 1_000, process=1)
    trace.kernel(31_000, 32_000, process=2)
    trace.kernel(42_000, 43_000, process=1)
    trace.kernel(44_000, 45_000, process=2)  # after a short one, counted with the first process
    assert trace.ask("SELECT process, cause, total_ns, idle_share FROM kernel_gap_cause") == [
        (1, "unknown", 10_000, 10 / 41),
        (1, "short_gap", 1_000, 1 / 41),
        (2, "unknown", 30_000, 30 / 41),
    ]


def test_each_gpu_has_its_own_idle_time(trace: Trace) -> None:
    for device_id in (0, 1):
        trace.kernel(0, 1_000, device_id=device_id)
        trace.kernel(21_000 + device_id, 22_000, device_id=device_id)
    assert trace.ask("SELECT device_id, total_ns, idle_share FROM kernel_gap_cause") == [
        (0, 20_000, 1),
        (1, 20_001, 1),
    ]
