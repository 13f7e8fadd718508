from rows import Trace

S = 10**9
COLUMNS = "limited_by, start_ns / 1e9, end_ns / 1e9, sample_count, min_clock_hz"


def asked(trace: Trace) -> list[tuple[object, ...]]:
    return trace.ask(f"SELECT {COLUMNS} FROM held_window ORDER BY ALL")


def test_a_window_ends_where_the_clock_is_back(trace: Trace) -> None:
    trace.rounds(
        sm_clock_hz=[2e9, 2e9, 1e9, 1.2e9, 2e9, 2e9, 2e9, 1e9],
        clock_event_reasons=[4, 4, 72, 72, 4, 4, 4, 64],
    )
    hot = "hardware thermal slowdown"
    assert asked(trace) == [(hot, 2, 4, 2, 1e9), (hot, 7, 8, 1, 1e9)]


def test_one_odd_sample_without_a_reason_is_none(trace: Trace) -> None:
    trace.rounds(sm_clock_hz=[2e9, 1e9, 2e9, 2e9], clock_event_reasons=0)
    assert asked(trace) == []


def test_a_gap_in_the_samples_ends_a_window(trace: Trace) -> None:
    trace.rounds(
        sm_clock_hz=[2e9, 2e9, 2e9, 1e9, 1e9] + [None] * 6 + [1e9],
        clock_event_reasons=[4, 4, 4, 72, 72] + [None] * 6 + [72],
    )
    assert [row[1:3] for row in asked(trace)] == [(3, 5), (11, 12)]


def test_the_reason_of_most_samples(trace: Trace) -> None:
    trace.rounds(sm_clock_hz=[1e9] * 4, clock_event_reasons=[32, 64, 64, 8], gpu_util_share=1)
    assert trace.ask("SELECT limited_by, family, reasons FROM held_window") == [
        ("hardware thermal slowdown", "thermal", 96)
    ]


def test_rounds_without_time(trace: Trace) -> None:
    for tick, mask in enumerate((4, 0x48, 0x48, 4)):
        trace.sample("clock_event_reasons", mask, None, tick=tick)
    columns = "start_ns, first_tick, last_tick, sample_count"
    assert trace.ask(f"SELECT {columns} FROM held_window") == [(None, 1, 2, 2)]
