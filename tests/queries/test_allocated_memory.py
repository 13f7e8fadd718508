from rows import Trace


def event(trace: Trace, start_ns: int, change: int, **more: object) -> None:
    operation = "allocate" if change > 0 else "free"
    row = {"process": 1, "device_id": 0, "memory": "device", "operation": operation, **more}
    trace.insert("memory_usage_event", start_ns=start_ns, bytes=abs(change), **row)


def test_the_highest_level(trace: Trace) -> None:
    trace.process()
    for start_ns, change in ((0, 5), (1, 7), (2, -7), (3, 4), (4, -4)):
        event(trace, start_ns, change)
    columns = "rank, allocation_count, release_count, allocated_bytes, peak_bytes, peak_ns"
    assert trace.ask(f"SELECT {columns}, growth_bytes FROM allocated_memory") == [
        (0, 3, 2, 16, 12, 1, 5)
    ]


def test_memory_of_the_host_does_not_count(trace: Trace) -> None:
    event(trace, 0, 5, memory="pinned")
    assert trace.ask("FROM allocated_memory") == []


def test_what_was_there_before_is_released(trace: Trace) -> None:
    event(trace, 0, -9)
    event(trace, 1, 4)
    assert trace.ask("SELECT peak_bytes, growth_bytes FROM allocated_memory") == [(0, -5)]


def test_processes_are_apart(trace: Trace) -> None:
    event(trace, 0, 5)
    event(trace, 0, 6, process=2)
    assert trace.ask("SELECT process, peak_bytes FROM allocated_memory") == [(1, 5), (2, 6)]
