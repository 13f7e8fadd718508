from rows import Trace


def test_who_and_where(trace: Trace) -> None:
    trace.process(1, rank=0)
    trace.process(2, rank=5)
    trace.device(1, device_id=0, gpu_id="shared")
    trace.device(2, device_id=1, gpu_id="shared")
    trace.kernel(0, 1_000, "before", process=1)
    trace.launch((1_000, 15_000), (31_000, 32_000), process=2, device_id=1)
    both = {
        "run_id": "run",
        "host": "node",
        "rank": 5,
        "device_id": 1,
        "process": 2,
        "gpu_id": "shared",
        "gap_start_ns": 1_000,
        "gap_end_ns": 31_000,
        "source_id": "a",
    }
    assert trace.only("FROM kernel_gap_part WHERE cause = 'launch_call'") == {
        **both,
        "start_ns": 1_000,
        "end_ns": 15_000,
        "dur_ns": 14_000,
        "cause": "launch_call",
        "responsible": "cudaLaunchKernel",
    }
    assert trace.only("FROM kernel_gap_part WHERE cause = 'dependency'") == {
        **both,
        "start_ns": 15_000,
        "end_ns": 31_000,
        "dur_ns": 16_000,
        "cause": "dependency",
        "responsible": "before",
    }


def test_the_parts_of_a_gap_sum_to_it(trace: Trace) -> None:
    trace.kernel(0, 1_000)
    trace.call(2_000, 4_000, "cudaMalloc")
    trace.launch((15_000, 18_000), (31_000, 32_000))
    trace.launch((40_000, 60_000), (50_000, 61_000))
    assert trace.ask(
        """
        SELECT g.dur_ns, sum(p.dur_ns), count(*) FROM kernel_gap AS g JOIN kernel_gap_part AS p
        ON p.gap_start_ns = g.start_ns AND p.gap_end_ns = g.end_ns GROUP BY ALL ORDER BY ALL
        """
    ) == [(18_000, 18_000, 2), (30_000, 30_000, 5)]


def test_what_is_no_gap_has_no_parts(trace: Trace) -> None:
    trace.kernel(0, 1_000)
    trace.launch((1_500, 1_600), (10_999, 12_000))
    assert trace.ask("FROM kernel_gap_part") == []
