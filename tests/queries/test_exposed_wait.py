from rows import Trace

REDUCE = "ncclAllReduce"


def test_each_collective_and_what_no_compute_hides(trace: Trace) -> None:
    for rank, start_ns in ((0, 20), (1, 60)):
        where = trace.rank(rank, source_id="both")
        for step in (0, 1):
            trace.step(where, 100 * step, 100 * step + 100, f"step {step}")
            trace.launched(where, 100 * step, 100 * step + 20)
        trace.launched(where, start_ns, 80, REDUCE, stream_id=20)
        trace.launched(where, 30, 40)
    rows = trace.ask(
        "SELECT device_key, step, wait_ns, exposed_wait_ns, reason FROM exposed_wait ORDER BY ALL"
    )
    assert rows == [(1, 0, 40, 30, None), (2, 0, 0, 0, None)]


def test_an_unknown_wait_is_not_hidden_but_unknown(trace: Trace) -> None:
    where = trace.rank(0)
    for step in (0, 1):
        trace.step(where, 100 * step, 100 * step + 100, f"step {step}")
        trace.launched(where, 100 * step, 100 * step + 20)
    trace.launched(where, 30, 40, REDUCE, stream_id=20)
    rows = trace.ask("SELECT wait_ns, exposed_wait_ns, reason FROM exposed_wait")
    assert rows == [(None, None, "only one rank is present")]
