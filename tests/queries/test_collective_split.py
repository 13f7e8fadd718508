from rows import Trace

COLUMNS = "kernel_count, split_count, wait_ns, transfer_ns, tail_ns, unsplit_ns, longest_wait_ns"


def test_waits_and_transfers_of_all_ranks_together(trace: Trace) -> None:
    for rank, start in ((0, 100), (1, 130)):
        where = trace.rank(rank, source_id="one file")
        trace.step(where, 0, 200, "step 1")
        trace.launched(where, start, 180, "ncclAllReduce")
    # Rank 0 waits 30 for rank 1; both transfer for 50.
    assert trace.ask(f"SELECT operation, {COLUMNS} FROM collective_split") == [
        ("all_reduce", 2, 2, 30, 100, 0, 0, 30)
    ]
    assert trace.ask("SELECT wait_share FROM collective_split") == [(30 / 130,)]


def test_one_rank_alone_cannot_be_split_and_says_why(trace: Trace) -> None:
    where = trace.rank(0)
    trace.launched(where, 0, 50, "ncclAllGather")
    row = trace.only("FROM collective_split")
    assert (row["wait_ns"], row["transfer_ns"], row["unsplit_ns"]) == (None, None, 50)
    assert row["wait_share"] is None and row["reason"]


def test_no_communication_no_rows(trace: Trace) -> None:
    trace.kernel()
    assert trace.ask("FROM collective_split") == []
