from rows import Trace


def test_communication_kernels_by_operation(trace: Trace) -> None:
    trace.kernel(0, 10, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
    trace.kernel(20, 50, "ncclKernel_AllReduce_TREE_LL_Sum_half")
    trace.kernel(60, 65, "ncclDevKernel_SendRecv")
    trace.kernel(70, 71, "ncclDevKernel_Generic")
    trace.kernel(80, 1000, "gemm")
    rows = trace.ask(
        "SELECT operation, kernel_count, total_ns, min_ns, median_ns, max_ns"
        " FROM collective_summary"
    )
    assert rows == [
        ("all_reduce", 2, 40, 10, 20, 30),
        ("send_recv", 1, 5, 5, 5, 5),
        ("unknown", 1, 1, 1, 1, 1),
    ]


def test_each_process_has_its_own(trace: Trace) -> None:
    trace.process(1, rank=0)
    trace.process(2, rank=1)
    trace.kernel(0, 10, "ncclAllGather", process=1)
    trace.kernel(0, 20, "ncclAllGather", process=2)
    assert trace.ask("SELECT rank, operation, total_ns FROM collective_summary") == [
        (0, "all_gather", 10),
        (1, "all_gather", 20),
    ]
