from rows import Trace


def test_everything_that_occupies_a_gpu(trace: Trace) -> None:
    trace.kernel(0, 1, "gemm", correlation_id=5)
    trace.kernel(10, 11, "ncclDevKernel_AllGather")
    trace.graph(20, 21)
    trace.copy(30, 31, kind="DtoH")
    trace.set(40, 41)
    rows = trace.ask(
        """
        SELECT start_ns, end_ns, kind, is_communication, is_compute, detail, correlation_id
        FROM activity ORDER BY start_ns
        """
    )
    assert rows == [
        (0, 1, "kernel", False, True, None, 5),
        (10, 11, "kernel", True, False, None, None),
        (20, 21, "graph_launch", False, True, None, None),
        (30, 31, "memory_copy", False, False, "DtoH", None),
        (40, 41, "memory_set", False, False, None, None),
    ]


def test_a_name_in_several_files_multiplies_nothing(trace: Trace) -> None:
    trace.kernel(0, 10, source_id="a")
    trace.kernel(0, 10, source_id="b")
    trace.kernel(20, 30, source_id="b")
    assert trace.ask("SELECT source_id, count(*) FROM activity GROUP BY ALL ORDER BY ALL") == [
        ("a", 1),
        ("b", 2),
    ]
