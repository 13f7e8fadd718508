from rows import COMPUTE, Trace

TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
TCGEN05 = "sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_elapsed"


def test_a_kernel_with_its_throughputs(trace: Trace) -> None:
    dram = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
    trace.throughput(31.41, 77.06, "silu", metrics={dram: 77.06, "gpu__time_duration.sum": 437.0})
    row = trace.only("FROM speed_of_light")
    assert (row["name"], row["class"], row["reason"]) == ("silu", "memory bound", None)
    shares = ("compute_share", "memory_share", "dram_share", "l2_share")
    assert [row[name] and round(row[name], 6) for name in shares] == [0.3141, 0.7706, 0.7706, None]
    assert (row["grid_block_count"], row["block_thread_count"], row["profiled_ns"]) == (8, 128, 437)


def test_blackwell_has_two_tensor_pipes(trace: Trace) -> None:
    # Published reports of a B200: attention by tcgen05, and by mma.
    trace.profile({TENSOR: 3.35, TCGEN05: 34.93})
    trace.profile({TENSOR: 54.22, TCGEN05: 0.0}, kernel_id=1)
    rows = trace.ask("SELECT tensor_pipe_share, tc_pipe_share FROM speed_of_light")
    assert [tuple(round(share, 6) for share in row) for row in rows] == [
        (0.0335, 0.3493),
        (0.5422, 0),
    ]


def test_what_is_missing_is_said(trace: Trace) -> None:
    trace.throughput(50.0, None)
    trace.profile({}, kernel_id=1)
    way_out = "not collected; profile with --section SpeedOfLight"
    assert trace.ask("SELECT class, reason FROM speed_of_light") == [
        (None, f"Memory Throughput {way_out}"),
        (None, f"Compute (SM) Throughput and Memory Throughput {way_out}"),
    ]


def test_where_it_was_profiled(trace: Trace) -> None:
    trace.insert("source_file", source_id="ncu", path="x", size_bytes=1, row_count=1,
                 status="complete", host="node-a", rank=3)  # fmt: skip
    trace.profile({COMPUTE: 1.0})
    trace.profile({COMPUTE: 1.0}, source_id="unknown")
    assert trace.ask("SELECT host, rank FROM speed_of_light") == [("node-a", 3), (None, None)]


def test_no_profiles_no_rows(trace: Trace) -> None:
    trace.kernel()
    assert trace.ask("FROM speed_of_light") == []
