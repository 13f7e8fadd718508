from typing import Any

import pytest
from rows import Trace

# 6 x 10e9 + 12 x 10 x 1000 x 2000 = 60.24e9 FLOP a token; 2e3 tokens a second and GPU.
FACTS: dict[str, float | str] = {
    "model.parameters": 10e9,
    "model.layers": 10,
    "model.hidden_size": 1000,
    "model.sequence_length": 2000,
    "training.global_batch_size": 4,
    "training.precision": "bf16",
    "hardware.gpu": "NVIDIA A100-SXM4-40GB",
    "hardware.gpu_count": 4,
}
STEP_NS = 1_000_000_000
PEAK = 312e12


def describe(trace: Trace, *without: str, **more: float | str) -> None:
    facts = FACTS | {key.replace("__", "."): value for key, value in more.items()}
    for key, value in facts.items():
        if key not in without:
            number = value if isinstance(value, float | int) else None
            trace.description(key, str(value), value_number=number)


def log(trace: Trace, step_ns: int | None = STEP_NS, **more: Any) -> None:
    for step in (1, 2, 3):
        row = {"framework": "megatron", "kind": "step", "attempt": 1, "line": step, **more}
        trace.insert("training_step", source_id="log", step=step, step_ns=step_ns, **row)


def only(trace: Trace) -> dict[str, Any]:
    return trace.only("FROM model_flops_utilisation")


def test_from_the_steps_of_a_log(trace: Trace) -> None:
    describe(trace, training__recomputation="none")
    log(trace)
    row = only(trace)
    assert (row["origin"], row["attempt"], row["source_id"]) == ("megatron", 1, "log")
    assert (row["step_ns"], row["tokens_per_s"]) == (STEP_NS, 8000)
    assert row["flops_per_token"] == 60.24e9
    assert row["model_flops_per_s_per_gpu"] == pytest.approx(60.24e9 * 2000)
    assert row["mfu_share"] == row["hfu_share"] == pytest.approx(60.24e9 * 2000 / PEAK)  # 0.386
    assert row["weights_mfu_share"] == pytest.approx(60e9 * 2000 / PEAK)
    assert row["reason"] is None


@pytest.mark.parametrize(
    ("recomputation", "flops"),
    [
        ("none", 60.24e9),
        ("selective", 60e9 + 0.32e9),
        ("full", 80e9 + 0.32e9),  # 8 N
        (None, None),
        ("some", None),
    ],
)
def test_hardware_flop_count_what_is_computed_again(
    trace: Trace, recomputation: str | None, flops: float | None
) -> None:
    describe(trace, **({"training__recomputation": recomputation} if recomputation else {}))
    log(trace)
    row = only(trace)
    assert row["hardware_flops_per_token"] == flops
    assert row["hfu_share"] == (flops and pytest.approx(flops * 2000 / PEAK))
    assert row["mfu_share"] == pytest.approx(60.24e9 * 2000 / PEAK)


def test_from_the_steps_of_traces(trace: Trace) -> None:
    describe(trace)
    for rank in (0, 1):
        where = trace.rank(rank)
        for step in range(3):
            begin = STEP_NS * step
            trace.step(where, begin, begin + STEP_NS, f"step {step}")
            trace.launched(where, begin, begin + STEP_NS)
    row = only(trace)
    assert (row["origin"], row["attempt"], row["source_id"]) == ("nsys", None, None)
    assert (row["step_ns"], row["mfu_share"]) == (STEP_NS, pytest.approx(0.38615, abs=1e-5))


def test_what_the_framework_says_stands_beside(trace: Trace) -> None:
    describe(trace)
    log(trace, reported_mfu_share=0.3, reported_flops_per_s_per_gpu=100e12)
    row = only(trace)
    assert (row["reported_mfu_share"], row["reported_flops_per_s_per_gpu"]) == (0.3, 100e12)
    assert row["mfu_ratio"] == pytest.approx(0.386154 / 0.3, rel=1e-5)
    assert row["flops_ratio"] == pytest.approx(1.2048)


def test_tokens_of_the_log_count_first(trace: Trace) -> None:
    describe(trace, "training.global_batch_size")
    log(trace, tokens_per_s=4000.0)
    assert only(trace)["mfu_share"] == pytest.approx(60.24e9 * 1000 / PEAK)


def test_tokens_of_one_gpu(trace: Trace) -> None:
    describe(trace, "training.global_batch_size")
    log(trace, step_ns=None, tokens_per_s_per_gpu=1000.0)
    assert only(trace)["mfu_share"] == pytest.approx(60.24e9 * 1000 / PEAK)


@pytest.mark.parametrize("parameters", [100e9, 0.0])
def test_the_impossible_is_refused(trace: Trace, parameters: float) -> None:
    describe(trace, model__parameters=parameters, model__layers=0 if parameters == 0 else 10)
    log(trace)
    row = only(trace)
    assert (row["mfu_share"], row["hfu_share"], row["mfu_ratio"]) == (None, None, None)
    value = "3.85" if parameters else "0"
    assert row["reason"].startswith(f"MFU would be {value}, which cannot be")


def test_an_impossible_hfu_is_refused_by_itself(trace: Trace) -> None:
    describe(trace, model__parameters=24e9, training__recomputation="full")
    log(trace)
    row = only(trace)
    assert row["mfu_share"] == pytest.approx(0.9246, abs=1e-4)
    assert row["hfu_share"] is None
    assert row["reason"].startswith("HFU would be 1.23, which cannot be")


@pytest.mark.parametrize(
    ("without", "more", "reason"),
    [
        ("model.parameters", {}, "not known: model.parameters"),
        ("training.precision", {}, "not known: training.precision"),
        ("hardware.gpu", {}, "not known: hardware.gpu"),
        ("", {"hardware__gpu": "A100"}, 'not known: dense bf16 peak of hardware.gpu "A100"'),
        ("", {"model__experts": 8}, "not known: model.active_parameters"),
        ("training.global_batch_size", {}, "tokens per second not known"),
        ("", {"model__lora_rank": 16}, "model.lora_rank is set"),
    ],
)
def test_what_is_missing_is_said(
    trace: Trace, without: str, more: dict[str, Any], reason: str
) -> None:
    describe(trace, without, **more)
    log(trace)
    row = only(trace)
    assert row["mfu_share"] is None
    assert row["reason"].startswith(reason)


def test_without_the_shape_of_attention_the_weights_still_count(trace: Trace) -> None:
    describe(trace, "model.layers")
    log(trace)
    row = only(trace)
    assert (row["mfu_share"], row["reason"]) == (None, "not known: model.layers")
    assert row["weights_mfu_share"] == pytest.approx(60e9 * 2000 / PEAK)


def test_experts_by_their_active_parameters(trace: Trace) -> None:
    describe(trace, model__parameters=80e9, model__experts=8, model__active_parameters=10e9)
    log(trace)
    assert only(trace)["mfu_share"] == pytest.approx(60.24e9 * 2000 / PEAK)


def periodic(trace: Trace) -> None:
    where = trace.rank(0)
    for step in range(12):
        for place, name in enumerate("abcde"):
            begin = 1_000_000_000 * step + 1000 * place
            trace.kernel(begin, begin + 900, name, **where)


def test_a_period_of_kernels_may_be_part_of_a_step(trace: Trace) -> None:
    describe(trace)
    periodic(trace)
    row = only(trace)
    assert row["mfu_share"] is None
    assert row["reason"].startswith("steps are known by the period of kernels alone")


def test_unless_a_step_is_one_pass(trace: Trace) -> None:
    describe(trace, training__gradient_accumulation=1)
    periodic(trace)
    assert only(trace)["mfu_share"] == pytest.approx(0.386, abs=1e-3)


def test_runs_and_attempts_stay_apart(trace: Trace) -> None:
    describe(trace)
    log(trace)
    log(trace, attempt=2, step_ns=2 * STEP_NS)
    log(trace, run_id="other")
    rows = trace.ask("SELECT run_id, attempt, mfu_share FROM model_flops_utilisation")
    assert rows == [
        ("other", 1, None),
        ("run", 1, pytest.approx(0.38615, abs=1e-5)),
        ("run", 2, pytest.approx(0.19308, abs=1e-5)),
    ]
    reason = "SELECT reason FROM model_flops_utilisation WHERE run_id = 'other'"
    assert "model.parameters" in trace.ask(reason)[0][0]


def test_no_steps_no_rows(trace: Trace) -> None:
    describe(trace)
    assert trace.ask("FROM model_flops_utilisation") == []
