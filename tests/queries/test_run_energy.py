from typing import Any

from pytest import approx
from rows import Trace

S = 10**9


def powered(trace: Trace) -> None:
    """Two GPUs of 500 W for an hour, sampled every minute."""
    trace.file("a", capture_start_utc_ns=0)
    for gpu in ("X", "Y"):
        trace.rounds(60 * S, power_w=[500] * 61, gpu_id=gpu)


def logged(trace: Trace) -> None:
    trace.file("log", capture_start_utc_ns=0)
    for step in range(1, 5):
        row = {"framework": "megatron", "kind": "step", "attempt": 1, "line": step}
        when = {"ts_ns": 600 * step * S, "step_ns": 600 * S}
        trace.insert("training_step", source_id="log", step=step, **row, **when)


def test_energy_and_cost(trace: Trace) -> None:
    powered(trace)
    row = trace.only("FROM run_energy")
    assert (row["energy_j"], row["energy_kwh"], row["mean_power_w"]) == (3.6e6, 1, 500)
    assert (row["pue_ratio"], row["pue_source"]) == (1.6, "threshold")
    assert row["cost"] == approx(1.6 * 0.15)
    assert (row["step_j"], row["step_reason"]) == (None, "no steps with a time of day")


def test_prices_of_run_toml(trace: Trace) -> None:
    powered(trace)
    for key, value in (("pue", 1.2), ("price_per_kwh", 0.3)):
        trace.description(f"cost.{key}", str(value), value_number=value)
    trace.description("cost.currency", "EUR")
    row = trace.only("FROM run_energy")
    assert (row["cost"], row["currency"]) == (approx(0.36), "EUR")
    assert (row["pue_source"], row["price_source"]) == ("run.toml", "run.toml")


def test_energy_of_a_step_and_a_token(trace: Trace) -> None:
    powered(trace)
    logged(trace)
    row = trace.only("FROM run_energy")
    # The first line of a log does not count; three steps of ten minutes at 1 kW.
    assert (row["step_count"], row["step_j"]) == (3, 600_000)
    assert row["token_j"] is None and "global_batch_size" in row["step_reason"]
    facts: dict[str, Any] = {"training.global_batch_size": 10, "model.sequence_length": 100}
    for key, value in facts.items():
        trace.description(key, str(value), value_number=value)
    row = trace.only("FROM run_energy")
    assert (row["token_j"], row["step_reason"]) == (600, None)


def test_steps_outside_of_the_samples(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=10**6 * S)
    trace.rounds(power_w=[500] * 5)
    logged(trace)
    reason = "no step ran while all GPUs were sampled on one clock"
    assert trace.ask("SELECT step_j, step_reason FROM run_energy") == [(None, reason)]
