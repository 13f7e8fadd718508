from rows import Trace

S = 10**9


def test_a_round_holds_what_was_sampled_together(trace: Trace) -> None:
    trace.rounds(sm_clock_hz=[2e9, 1e9], clock_event_reasons=[4, None], power_w=700)
    columns = "ts_ns, dur_ns, sm_clock_hz, reasons, power_w, is_active"
    assert trace.ask(f"SELECT {columns} FROM gpu_round ORDER BY ts_ns") == [
        (0, S, 2e9, 4, 700.0, True),
        (S, S, 1e9, None, 700.0, None),
    ]


def test_a_gap_is_not_filled(trace: Trace) -> None:
    for second in (0, 1, 2, 9):
        trace.sample("power_w", 1, second * S)
    assert trace.ask("SELECT dur_ns / 1e9, is_after_gap FROM gpu_round ORDER BY ts_ns") == [
        (1, True), (1, False), (1, False), (1, True),
    ]  # fmt: skip


def test_rounds_without_time(trace: Trace) -> None:
    trace.sample("power_w", 1, None, tick=0)
    trace.sample("power_w", 2, None, tick=1)
    columns = "tick, dur_ns, is_after_gap, power_w"
    assert trace.ask(f"SELECT {columns} FROM gpu_round ORDER BY tick") == [
        (0, None, True, 1.0),
        (1, None, False, 2.0),
    ]


def test_flags_and_counters_stand_in_for_the_mask(trace: Trace) -> None:
    trace.rounds(clock_event_hw_slowdown=[1, 0], clock_event_hw_thermal_slowdown=[1, 0])
    trace.rounds(power_w=[1, 1, 1], thermal_violation_ns=[0, 0, 5], gpu_id="gpu Y")
    rows = trace.ask(
        "SELECT gpu_id, reasons FROM gpu_round JOIN telemetry_gpu USING (telemetry_key)"
        " ORDER BY gpu_id, ts_ns"
    )
    # A counter of 0 may mean that nothing was counted: not known is not "no reason".
    assert rows == [
        ("gpu X", 72), ("gpu X", 0), ("gpu Y", None), ("gpu Y", None), ("gpu Y", 65536),
    ]  # fmt: skip


def test_counters_at_zero_under_full_use_are_stuck(trace: Trace) -> None:
    trace.rounds(
        gpu_util_share=[1, 1, 1, 0.2],
        sm_active_share=[0, 0.8, None, 0],
        dram_active_share=[0, 0, 0, 0],
    )
    columns = "is_stuck, sm_active_share, is_active"
    assert trace.ask(f"SELECT {columns} FROM gpu_round ORDER BY ts_ns") == [
        (True, None, True),
        (False, 0.8, True),
        (True, None, True),
        (False, 0.0, True),
    ]


def test_an_idle_gpu_is_not_active(trace: Trace) -> None:
    trace.rounds(gpu_util_share=[0, 1], clock_event_reasons=[0, 1])
    assert trace.ask("SELECT DISTINCT is_active FROM gpu_round") == [(False,)]


def test_a_profilers_samples_stay_out(trace: Trace) -> None:
    trace.file("a", format="nsys-sqlite")
    trace.sample("sm_active_share", 1)
    assert trace.ask("FROM gpu_round") == []
