from typing import Any

from rows import Trace

KERNELS = """
    SELECT operation, stream_id, channel, call_start_ns, start_ns
    FROM collective_kernel ORDER BY start_ns
"""


def test_only_communication_with_its_operation_and_launch(trace: Trace) -> None:
    rank = trace.rank(0)
    trace.launched(rank, 100, 110, "ncclDevKernel_AllReduce", call_ns=5)
    trace.launched(rank, 120, 130, "gemm")
    trace.launched(rank, 140, 150, "ncclDevKernel_Generic", call_ns=8)
    assert trace.ask(KERNELS) == [
        ("all_reduce", 7, "1", 5, 100),
        (None, 7, "1", 8, 140),
    ]


def test_streams_are_counted_within_process_and_operation(trace: Trace) -> None:
    one, other = trace.rank(0), trace.rank(1)
    trace.launched(one, 10, 11, "ncclAllReduce", stream_id=20)
    trace.launched(one, 20, 21, "ncclAllReduce", stream_id=16)
    trace.launched(one, 30, 31, "ncclAllGather", stream_id=20)
    trace.launched(other, 40, 41, "ncclAllReduce", stream_id=99)
    assert [(row[1], row[2]) for row in trace.ask(KERNELS)] == [
        (20, "2"),
        (16, "1"),
        (20, "1"),
        (99, "1"),
    ]


def test_without_a_recorded_launch_it_stays(trace: Trace) -> None:
    trace.kernel(10, 11, "ncclAllReduce", correlation_id=3)
    assert trace.ask(KERNELS) == [("all_reduce", 7, "1", None, 10)]


def test_a_call_of_two_rows_launches_once(trace: Trace) -> None:
    rank = trace.rank(0)
    for start_ns in (5, 6):
        trace.call(start_ns, 9, correlation_id=3, **rank)
    trace.kernel(10, 11, "ncclAllReduce", correlation_id=3, **rank)
    assert trace.ask(KERNELS) == [("all_reduce", 7, "1", 5, 10)]


def test_the_same_correlation_in_another_process_is_another_call(trace: Trace) -> None:
    one, other = trace.rank(0), trace.rank(1)
    trace.call(5, 6, correlation_id=3, **other)
    trace.kernel(10, 11, "ncclAllReduce", correlation_id=3, **one)
    assert trace.ask(KERNELS) == [("all_reduce", 7, "1", None, 10)]


# -- with NCCL's own description of its calls ----------------------------------------------

TOLD = """
    SELECT operation, channel, communicator_size, message_bytes
    FROM collective_kernel ORDER BY start_ns
"""


def described(trace: Trace, start_ns: int, operation: str, **more: Any) -> None:
    row = {"process": 1, "source_id": "rank 0", "thread": 1, "communicator_id": "A", **more}
    trace.insert("collective_call", start_ns=start_ns, operation=operation, **row)


def test_a_call_names_the_communicator_and_the_message(trace: Trace) -> None:
    rank = trace.rank(0)
    described(trace, 1, "init", rank_count=4)
    described(trace, 4, "all_gather", message_bytes=100)  # what one rank contributes
    trace.launched(rank, 10, 20, "ncclDevKernel_Generic", call_ns=5)
    described(trace, 24, "all_reduce", message_bytes=100)
    trace.launched(rank, 30, 40, "ncclAllReduce", call_ns=25)
    trace.launched(rank, 50, 60, "ncclAllReduce", call_ns=45)  # nothing said of this one
    assert trace.ask(TOLD) == [
        ("all_gather", "A", 4, 400),
        ("all_reduce", "A", 4, 100),
        ("all_reduce", "1", None, None),
    ]


def test_a_group_is_one_launch(trace: Trace) -> None:
    rank = trace.rank(0)
    described(trace, 1, "init", rank_count=2)
    for start_ns, operation in ((3, "send"), (4, "recv"), (5, "send"), (6, "recv")):
        described(trace, start_ns, operation, message_bytes=10)
    trace.launched(rank, 10, 20, "ncclDevKernel_SendRecv", call_ns=8)
    assert trace.ask(TOLD) == [("send_recv", "A", 2, 20)]


def test_a_group_over_two_communicators_has_no_one_answer(trace: Trace) -> None:
    rank = trace.rank(0)
    for communicator in ("A", "B"):
        described(trace, 1, "init", rank_count=2, communicator_id=communicator)
        described(trace, 3, "all_reduce", message_bytes=10, communicator_id=communicator)
    trace.launched(rank, 10, 20, "ncclAllReduce", call_ns=8)
    assert trace.ask(TOLD) == [("all_reduce", "1", None, None)]


def test_a_call_of_another_operation_or_thread_is_not_its(trace: Trace) -> None:
    rank = trace.rank(0)
    described(trace, 1, "init", rank_count=2)
    described(trace, 3, "all_gather", message_bytes=10)
    described(trace, 4, "all_reduce", message_bytes=10, thread=2)
    trace.launched(rank, 10, 20, "ncclAllReduce", call_ns=8)
    assert trace.ask(TOLD) == [("all_reduce", "1", None, None)]
