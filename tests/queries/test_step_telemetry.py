from rows import Trace

S = 10**9


def logged(trace: Trace, *at_s: int) -> None:
    trace.file("log", capture_start_utc_ns=0)
    for step, at in enumerate(at_s):
        row = {"framework": "megatron", "kind": "step", "attempt": 1, "line": step}
        length = at - at_s[step - 1] if step else at
        when = {"ts_ns": at * S, "step_ns": length * S}
        trace.insert("training_step", source_id="log", step=step, **row, **when)


def test_a_step_and_what_the_hardware_did(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=0)
    logged(trace, 1, 4, 9)
    is_hot = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]
    for gpu in ("X", "Y"):
        hot = [gpu == "Y" and bool(one) for one in is_hot]
        trace.rounds(
            gpu_id=gpu,
            sm_clock_hz=[1e9 if one else 2e9 for one in hot],
            clock_event_reasons=[64 if one else 4 for one in hot],
            power_w=600,
            gpu_util_share=1,
        )
    columns = "step, start_ns // 1000000000, gpu_count, run_gpu_count, sample_count"
    columns += ", coverage_share, throttled_gpu_count, mean_clock_hz, min_clock_hz"
    assert trace.ask(f"SELECT {columns} FROM step_telemetry") == [
        (1, 1, 2, 2, 6, 1.0, 0, 2e9, 2e9),
        (2, 4, 2, 2, 10, 1.0, 1, 1.5e9, 1e9),
    ]


def test_steps_between_samples_have_none(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=0)
    logged(trace, 1, 2, 3, 4)
    trace.rounds(10 * S, power_w=[1, 1])
    assert trace.ask("FROM step_telemetry") == []


def test_without_a_common_clock_nothing_meets(trace: Trace) -> None:
    trace.file("a", capture_start_local_ns=0)
    logged(trace, 1, 4)
    trace.rounds(power_w=[1] * 9)
    assert trace.ask("FROM step_telemetry") == []
