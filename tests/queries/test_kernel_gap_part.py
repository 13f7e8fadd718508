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
        "peer": None,
    }
    assert trace.only("FROM kernel_gap_part WHERE cause = 'dependency'") == {
        **both,
        "start_ns": 15_000,
        "end_ns": 31_000,
        "dur_ns": 16_000,
        "cause": "dependency",
        "responsible": "before",
        "peer": "stream 7 (its own)",
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


PEERS = "SELECT rank, peer FROM kernel_gap_part WHERE cause = 'dependency' ORDER BY rank"


def test_the_stream_waited_for_and_how(trace: Trace) -> None:
    # The kernel of stream 7 was launched long before; its stream was told to wait.
    trace.launch((0, 10), (100, 1_000), "HtoD", correlation_id=1, stream_id=21)
    wait = {"process": 1, "device_id": 0, "stream_id": 7, "correlation_id": 2}
    trace.insert("synchronization", start_ns=20, end_ns=25, kind="stream_wait_event", **wait)
    trace.launch((30, 40), (31_000, 32_000), correlation_id=3)
    # The next one comes behind it in its stream, not behind the event.
    trace.launch((50, 60), (62_000, 63_000), correlation_id=4)
    assert trace.ask(PEERS) == [(0, "stream 21, through an event"), (0, "stream 7 (its own)")]


def test_the_rank_that_came_last_to_the_collective_waited_for(trace: Trace) -> None:
    us = 1_000
    for rank, start_us in ((0, 10), (1, 50)):
        where = trace.rank(rank, source_id="both")
        trace.launched(where, 0, start_us * us)
        trace.launched(where, start_us * us, 100 * us, "ncclAllReduce", stream_id=20)
        trace.launched(where, 130 * us, 140 * us, call_ns=60 * us)
    assert trace.ask(PEERS) == [
        (0, "stream 20, rank 1 last to arrive in all_reduce"),
        (1, "stream 20"),
    ]
