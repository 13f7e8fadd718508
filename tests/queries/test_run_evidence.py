"""Tables in, what there is of a run out."""

from rows import Trace


def test_what_was_collected_is_counted(trace: Trace) -> None:
    for rank in (0, 1):
        where = trace.rank(rank)
        for step in (0, 1):
            trace.step(where, 10 * step, 10 * step + 10, f"step {step}")
            trace.launched(where, 10 * step + 1, 10 * step + 9)
    trace.insert("run_description", key="parallelism.world_size", value_text="4", value_number=4)
    trace.sample("power_w", 1.0)
    trace.sample("sm_clock_hz", 1.0)
    row = trace.only("FROM run_evidence")
    assert (row["traced_count"], row["rank_count"], row["world_size"]) == (2, 2, 4)
    assert row["trace_reason"] is None
    assert (row["step_count"], row["sampled_count"]) == (2, 1)
    assert (row["profile_count"], row["log_step_count"], row["benchmark_count"]) == (0, 0, 0)


def test_a_device_without_work_is_not_traced(trace: Trace) -> None:
    trace.rank(0)
    row = trace.only("FROM run_evidence")
    assert (row["traced_count"], row["trace_reason"]) == (0, "no Nsight Systems capture")


def test_a_capture_without_work_of_a_gpu_is_one(trace: Trace) -> None:
    trace.file("a", format="nsys-sqlite")
    trace.file("log", format="megatron", run_id="other")
    asked = "SELECT run_id, trace_reason FROM run_evidence"
    assert trace.ask(asked) == [
        ("other", "no Nsight Systems capture"),
        ("run", "Nsight Systems captured no work of a GPU"),
    ]
