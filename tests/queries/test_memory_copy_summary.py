from rows import Trace


def test_bandwidth_by_direction_and_kind_of_memory(trace: Trace) -> None:
    pinned = {"kind": "HtoD", "source_memory": "pinned", "destination_memory": "device"}
    pageable = {**pinned, "source_memory": "pageable"}
    trace.copy(0, 10, bytes=100, **pinned)
    trace.copy(20, 50, bytes=300, **pinned)
    trace.copy(60, 80, bytes=40, **pageable)
    rows = trace.ask(
        """
        SELECT kind, source_memory, destination_memory, copy_count, bytes, total_ns, bytes_per_s,
            min_bytes, median_bytes, max_bytes
        FROM memory_copy_summary
        """
    )
    assert rows == [
        ("HtoD", "pinned", "device", 2, 400, 40, 10e9, 100, 200, 300),
        ("HtoD", "pageable", "device", 1, 40, 20, 2e9, 40, 40, 40),
    ]


def test_copies_that_took_no_time_have_no_bandwidth(trace: Trace) -> None:
    trace.copy(5, 5, bytes=8)
    assert trace.ask("SELECT copy_count, bytes, bytes_per_s FROM memory_copy_summary") == [
        (1, 8, None)
    ]


def test_memory_that_was_not_recorded_is_a_kind_of_its_own(trace: Trace) -> None:
    trace.copy(0, 10, source_memory=None)
    trace.copy(0, 5, source_memory="pinned")
    assert trace.ask("SELECT source_memory, total_ns FROM memory_copy_summary") == [
        (None, 10),
        ("pinned", 5),
    ]
