from bandwidth_rows import all_reduce
from rows import Trace


def test_one_row_for_all_ranks(trace: Trace) -> None:
    all_reduce(trace, [(0, 100), (40, 100)], message_bytes=600, hosts=["a", "b"])
    row = trace.only("FROM collective_instance")
    assert (row["operation"], row["rank_count"], row["host_count"]) == ("all_reduce", 2, 2)
    assert (row["mean_wait_ns"], row["longest_wait_ns"], row["transfer_ns"]) == (20, 40, 60)
    assert (row["last_rank"], row["dur_ns"], row["hosts"]) == (1, 100, ["a", "b"])
    assert (row["message_bytes"], row["busbw_bytes_per_s"]) == (600, 10e9)


def test_a_host_that_is_not_told_leaves_their_count_open(trace: Trace) -> None:
    for rank, host in ((0, "a"), (1, None)):
        where = trace.rank(rank, source_id="job", host=host)
        trace.launched(where, 0, 100, "ncclAllReduce")
    row = trace.only("FROM collective_instance")
    assert (row["rank_count"], row["host_count"], row["message_bytes"]) == (2, None, None)


def test_one_rank_alone_is_no_instance(trace: Trace) -> None:
    trace.kernel(0, 100, "ncclAllReduce")
    assert trace.ask("FROM collective_instance") == []
