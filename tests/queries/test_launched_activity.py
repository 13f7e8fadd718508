from rows import Trace

LAUNCHES = """
    SELECT process, thread, call_start_ns, call_end_ns, start_ns, end_ns
    FROM launched_activity ORDER BY ALL
"""


def test_work_joins_the_call_that_launched_it(trace: Trace) -> None:
    trace.call(0, 2, thread=9, correlation_id=1)
    trace.kernel(10, 20, correlation_id=1)
    trace.call(3, 5, "cudaMemcpyAsync", thread=9, correlation_id=2)
    trace.copy(20, 25, correlation_id=2)
    trace.call(6, 7, "cudaGraphLaunch", thread=9, correlation_id=3)
    trace.graph(30, 40, correlation_id=3)
    assert trace.ask(LAUNCHES) == [(1, 9, 0, 2, 10, 20), (1, 9, 3, 5, 20, 25), (1, 9, 6, 7, 30, 40)]


def test_work_without_a_call_and_a_call_without_work_are_left_out(trace: Trace) -> None:
    trace.call(0, 2, correlation_id=1)
    trace.kernel(10, 20, correlation_id=2)
    trace.kernel(30, 40, correlation_id=None)
    assert trace.ask(LAUNCHES) == []


def test_the_same_correlation_id_in_another_process_is_another_launch(trace: Trace) -> None:
    trace.call(0, 2, process=1, correlation_id=1)
    trace.call(5, 7, process=2, correlation_id=1)
    trace.kernel(10, 20, process=1, correlation_id=1)
    trace.kernel(30, 40, process=2, correlation_id=1)
    assert trace.ask(LAUNCHES) == [(1, 1, 0, 2, 10, 20), (2, 1, 5, 7, 30, 40)]


def test_a_graph_traced_by_node_is_one_call_with_many_kernels(trace: Trace) -> None:
    trace.call(0, 2, "cudaGraphLaunch", correlation_id=1)
    trace.kernel(10, 20, correlation_id=1, graph_node_id=1)
    trace.kernel(20, 30, correlation_id=1, graph_node_id=2)
    assert trace.ask(LAUNCHES) == [(1, 1, 0, 2, 10, 20), (1, 1, 0, 2, 20, 30)]
