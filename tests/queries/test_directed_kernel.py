from rows import Trace

ASKED = "SELECT evidence, list(is_backward ORDER BY start_ns) FROM directed_kernel GROUP BY 1"


def played(trace: Trace, names: str, threads: str = "1111") -> None:
    where = trace.rank(0)
    for step in range(2):
        begin = 100 * step
        trace.step(where, begin, begin + 100, f"step {step}")
        for place, (name, thread) in enumerate(zip(names.split(), threads, strict=True)):
            at = begin + 10 * place
            trace.launch((at, at), (at + 1, at + 9), name, thread=int(thread), **where)


def test_a_range_tells_whatever_the_thread(trace: Trace) -> None:
    played(trace, "a b c d", "1121")
    trace.step(trace.rank(0), 10, 30, "MmBackward0")
    flags = [False, True, True, False, *[False] * 4]
    assert trace.ask(ASKED) == [("range", flags)]


def test_a_range_around_both_passes_says_nothing(trace: Trace) -> None:
    played(trace, "a b c d")
    trace.step(trace.rank(0), 0, 30, "forward-backward")
    assert trace.ask(ASKED) == [(None, [None] * 8)]


def test_another_thread_tells(trace: Trace) -> None:
    played(trace, "a b c d", "1221")
    assert trace.ask(ASKED) == [("thread", [False, True, True, False] * 2)]


def test_names_tell_from_the_first_to_the_last(trace: Trace) -> None:
    played(trace, "a x_bwd c y_backward")
    assert trace.ask(ASKED) == [("name", [False, True, True, True] * 2)]


def test_communication_is_left_out(trace: Trace) -> None:
    played(trace, "a ncclAllReduce c d")
    assert trace.ask(ASKED) == [(None, [None] * 6)]
