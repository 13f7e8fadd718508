"""What is told of a run in, its size out."""

from rows import Trace

SQL = "SELECT gpu_count, gpu_count_source, observed_ns, gpu_hours FROM run_scale"
HOUR = 3_600_000_000_000


def test_the_gpus_that_traces_show(trace: Trace) -> None:
    trace.rank(0)
    trace.kernel(0, HOUR // 2, process=1, source_id="rank 0")
    trace.kernel(HOUR // 2, HOUR, process=1, source_id="rank 0")
    assert trace.ask(SQL) == [(1, "GPUs that were traced", HOUR, 1.0)]


def test_a_description_counts_before_traces(trace: Trace) -> None:
    trace.rank(0)
    trace.kernel(0, HOUR, process=1, source_id="rank 0")
    trace.insert("run_description", key="hardware.gpu_count", value_text="8", value_number=8)
    trace.insert("run_description", key="cost.price_per_gpu_hour", value_text="2", value_number=2)
    assert trace.ask(SQL) == [(8, "run.toml", HOUR, 8.0)]
    assert trace.ask("SELECT price_per_gpu_hour FROM run_scale") == [(2.0,)]


def test_telemetry_alone(trace: Trace) -> None:
    trace.rank(0)
    trace.connection.execute("DELETE FROM device")
    for gpu_id in ("gpu A", "gpu B"):
        trace.sample("power_w", 1.0, 0, gpu_id=gpu_id)
        trace.sample("power_w", 1.0, HOUR, gpu_id=gpu_id)
    trace.sample("power_w", 1.0, HOUR, gpu_id="gpu B", entity="link")
    assert trace.ask(SQL) == [(2, "GPUs that were sampled", HOUR, 2.0)]


def test_nothing_is_known(trace: Trace) -> None:
    trace.rank(0)
    trace.connection.execute("DELETE FROM device")
    assert trace.ask(SQL) == [(None, None, None, None)]
