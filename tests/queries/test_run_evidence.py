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
    assert (row["step_count"], row["sampled_count"]) == (2, 1)
    assert (row["profile_count"], row["log_step_count"], row["benchmark_count"]) == (0, 0, 0)


def test_a_device_without_work_is_not_traced(trace: Trace) -> None:
    trace.rank(0)
    assert trace.only("FROM run_evidence")["traced_count"] == 0
