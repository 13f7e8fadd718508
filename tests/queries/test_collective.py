from rows import Trace


def test_every_collective_on_every_rank(trace: Trace) -> None:
    for rank, start_ns in ((0, 0), (1, 30)):
        where = trace.rank(rank, source_id="both", host=f"node {rank}")
        trace.kernel(start_ns, 100, "ncclAllReduce", stream_id=20 + rank, **where)
    told = "communicator_id, communicator_size, message_bytes, algbw_bytes_per_s, busbw_bytes_per_s"
    rows = trace.ask(
        f"SELECT * EXCLUDE (run_id, source_id, process, device_id, {told}) FROM collective"
    )
    split = 0, "common window", None
    assert rows == [
        (None, "all_reduce", 1, "node 0", 0, 20, 2, 0, 100, 30, -15, 30, 70, 0, False, 0, *split),
        (None, "all_reduce", 1, "node 1", 1, 21, 2, 30, 70, 30, 15, 0, 70, 0, True, 0, *split),
    ]


def test_one_rank_only_says_why_there_is_no_split(trace: Trace) -> None:
    trace.kernel(0, 100, "ncclAllReduce")
    row = trace.only("FROM collective")
    assert (row["dur_ns"], row["reason"]) == (100, "only one rank is present")
    split = ("wait_ns", "transfer_ns", "tail_ns", "late_ns", "is_last", "instance", "method")
    assert {row[name] for name in split} == {None}


def test_in_the_order_of_time_and_rank(trace: Trace) -> None:
    for rank in (1, 0):
        where = trace.rank(rank, source_id="both")
        for start_ns in (500, 0):
            trace.kernel(start_ns, start_ns + 100, "ncclAllReduce", **where)
    trace.kernel(50, 60, "ncclSendRecv", **where)
    rows = trace.ask("SELECT instance, rank, start_ns FROM collective")
    assert rows == [(1, 0, 0), (1, 1, 0), (2, 0, 500), (2, 1, 500), (None, 0, 50)]


def test_bandwidth_of_a_collective_whose_message_is_told(trace: Trace) -> None:
    for rank, start_ns in ((0, 0), (1, 50)):
        where = trace.rank(rank, source_id="both")
        call = {**where, "thread": 1, "communicator_id": "A"}
        trace.insert("collective_call", start_ns=0, operation="init", rank_count=2, **call)
        trace.insert(
            "collective_call", start_ns=0, operation="all_gather", message_bytes=40, **call
        )
        trace.launched(where, start_ns, 100, "ncclAllGather")
    sql = "SELECT message_bytes, transfer_ns, algbw_bytes_per_s, busbw_bytes_per_s FROM collective"
    assert trace.ask(sql) == [(80, 50, 1.6e9, 0.8e9)] * 2  # each contributes 40 bytes
