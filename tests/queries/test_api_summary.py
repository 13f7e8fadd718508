from rows import Trace


def test_calls_by_time(trace: Trace) -> None:
    trace.call(0, 5, "cudaLaunchKernel")
    trace.call(10, 13, "cudaEventQuery", return_code=600)
    trace.call(20, 29, "cudaEventQuery")
    rows = trace.ask(
        "SELECT name, call_count, error_count, total_ns, min_ns, median_ns, max_ns FROM api_summary"
    )
    assert rows == [
        ("cudaEventQuery", 2, 1, 12, 3, 6, 9),
        ("cudaLaunchKernel", 1, 0, 5, 5, 5, 5),
    ]


def test_two_versions_of_a_function_are_one(trace: Trace) -> None:
    names = {"name": "cudaFree", "source_id": "a"}
    trace.insert("api_name", name_id=1, versioned_name="cudaFree_v3020", **names)
    trace.insert("api_name", name_id=2, versioned_name="cudaFree_v9000", **names)
    for name_id in (1, 2):
        trace.insert("api_call", start_ns=0, end_ns=10, process=1, name_id=name_id)
    assert trace.ask("SELECT name, call_count, total_ns FROM api_summary") == [("cudaFree", 2, 20)]


def test_threads_are_summed_and_processes_are_not(trace: Trace) -> None:
    trace.call(0, 10, thread=1)
    trace.call(0, 10, thread=2)
    trace.call(0, 30, process=2)
    assert trace.ask("SELECT process, call_count, total_ns FROM api_summary") == [
        (1, 2, 20),
        (2, 1, 30),
    ]
