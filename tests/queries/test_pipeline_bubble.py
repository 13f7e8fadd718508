from typing import Any

from rows import Trace

EXCHANGE = "ncclDevKernel_SendRecv"


def stage(trace: Trace, *works: tuple[int, int, str, int]) -> None:
    """(start, end, name, stream) in each of two steps of 100."""
    where = trace.rank(0)
    for step in range(2):
        begin = 100 * step
        trace.step(where, begin, begin + 100, f"step {step}")
        for start_ns, end_ns, name, stream_id in [*works, (99, 100, "gemm", 7)]:
            span = begin + start_ns, begin + end_ns
            trace.launched(where, *span, name, stream_id=stream_id)


def bubbles(trace: Trace) -> list[tuple[Any, ...]]:
    trace.keep_for("pipeline_bubble")
    return trace.ask(
        "SELECT step, send_receive_count, step_ns, exposed_send_receive_ns, idle_ns, bubble_ns,"
        " bubble_share FROM pipeline_bubble"
    )


def test_waiting_for_another_stage_and_idle_time(trace: Trace) -> None:
    stage(trace, (0, 40, "gemm", 7), (40, 60, EXCHANGE, 20), (70, 99, "gemm", 7))
    assert bubbles(trace) == [(step, 1, 100, 20, 10, 30, 0.3) for step in (0, 1)]


def test_compute_beside_an_exchange_is_no_bubble(trace: Trace) -> None:
    stage(trace, (0, 60, "gemm", 7), (40, 80, EXCHANGE, 20), (70, 99, "gemm", 7))
    assert [row[3:6] for row in bubbles(trace)] == [(10, 0, 10)] * 2


def test_exchanges_beside_each_other_count_once(trace: Trace) -> None:
    exchanges = (40, 60, EXCHANGE, 20), (45, 70, EXCHANGE, 21)
    stage(trace, (0, 40, "gemm", 7), *exchanges, (70, 99, "gemm", 7))
    assert [row[1:4] for row in bubbles(trace)] == [(2, 100, 30)] * 2


def test_other_communication_is_no_bubble(trace: Trace) -> None:
    reduce = (30, 50, "ncclAllReduce", 21)
    stage(trace, (0, 30, "gemm", 7), reduce, (40, 60, EXCHANGE, 20), (60, 99, "gemm", 7))
    assert [row[3:6] for row in bubbles(trace)] == [(10, 0, 10)] * 2


def test_without_sends_and_receives_there_is_no_pipeline(trace: Trace) -> None:
    stage(trace, (0, 40, "gemm", 7), (50, 70, "ncclAllReduce", 20))
    assert bubbles(trace) == []


def test_an_exchange_over_the_end_of_a_step_is_counted_where_it_starts(trace: Trace) -> None:
    stage(trace, (0, 60, "gemm", 7), (60, 99, "gemm", 8))
    trace.launched(trace.rank(0), 80, 120, EXCHANGE, stream_id=20)
    assert [row[:2] for row in bubbles(trace)] == [(0, 1), (1, 0)]


def test_steps_that_summaries_leave_out_say_why(trace: Trace) -> None:
    where = trace.rank(0)
    begin = 0
    for step, length in enumerate((900, 100, 100, 100)):
        trace.step(where, begin, begin + length, f"step {step}")
        trace.launched(where, begin, begin + length - 10)
        trace.launched(where, begin + length - 10, begin + length, EXCHANGE, stream_id=20)
        begin += length
    trace.keep_for("pipeline_bubble")
    assert trace.ask("SELECT exclusion FROM pipeline_bubble") == [
        ("warm-up",), (None,), (None,), (None,)
    ]  # fmt: skip
