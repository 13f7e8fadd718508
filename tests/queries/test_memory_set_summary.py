from rows import Trace


def test_sets_by_kind_of_memory(trace: Trace) -> None:
    trace.set(0, 10, bytes=100)
    trace.set(20, 50, bytes=1)
    trace.set(60, 61, bytes=7, memory=None)
    assert trace.ask("SELECT memory, set_count, bytes, total_ns FROM memory_set_summary") == [
        ("device", 2, 101, 40),
        (None, 1, 7, 1),
    ]
