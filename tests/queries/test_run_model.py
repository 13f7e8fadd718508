from typing import Any

import pytest
from rows import Trace

KNOWN: dict[str, float | str] = {
    "model.parameters": 1e9,
    "model.layers": 10,
    "model.hidden_size": 1000,
    "model.sequence_length": 2000,
    "training.global_batch_size": 8,
    "training.precision": "bf16",
    "hardware.gpu": "NVIDIA H100 80GB HBM3",
    "hardware.gpu_count": 4,
}


def describe(trace: Trace, *without: str, **more: float | str) -> dict[str, Any]:
    facts = KNOWN | {key.replace("__", "."): value for key, value in more.items()}
    for key, value in facts.items():
        if key not in without:
            number = value if isinstance(value, float | int) else None
            trace.description(key, str(value), value_number=number)
    return trace.only("FROM run_model")


def test_everything_known(trace: Trace) -> None:
    row = describe(trace)
    assert (row["parameter_count"], row["tokens_per_step"], row["gpu_count"]) == (1e9, 16000, 4)
    assert (row["precision"], row["peak_flops_per_s"]) == ("bf16", 989.4e12)
    assert (row["missing"], row["recomputation"]) == (None, None)


@pytest.mark.parametrize(
    ("key", "missing"),
    [
        ("model.parameters", "model.parameters"),
        ("model.layers", "model.layers"),
        ("model.hidden_size", "model.hidden_size"),
        ("training.precision", "training.precision"),
        ("hardware.gpu", "hardware.gpu"),
        ("hardware.gpu_count", "hardware.gpu_count"),
        ("training.global_batch_size", None),  # a log may tell tokens
    ],
)
def test_what_is_missing_is_listed(trace: Trace, key: str, missing: str | None) -> None:
    assert describe(trace, key)["missing"] == missing


def test_experts_need_active_parameters(trace: Trace) -> None:
    row = describe(trace, model__experts=8.0)
    assert (row["parameter_count"], row["missing"]) == (None, "model.active_parameters")


def test_active_parameters_count(trace: Trace) -> None:
    row = describe(trace, model__experts=8.0, model__active_parameters=2e8)
    assert (row["parameter_count"], row["missing"]) == (2e8, None)


@pytest.mark.parametrize(
    ("gpu", "precision", "peak"),
    [
        ("H100 SXM", "bf16", 989.4e12),  # two products, one peak
        ("L4", "bf16", 121e12),  # not L40
        ("H20", "bf16", 148e12),  # not H200
        ("A10", "bf16", 125e12),  # not A100, nor A10G
        ("B20", "bf16", None),
        ("H100", "bf16", None),  # SXM, PCIe or NVL
        ("NVIDIA H100 PCIe", "bf16", 756e12),
        ("NVIDIA H100 PCIe", "fp8", 1513e12),
        ("NVIDIA H100 PCIe", "bfloat16", 756e12),
        ("Tesla V100-SXM2-32GB", "fp16", 125e12),
        ("Tesla V100-SXM2-32GB", "bf16", None),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", "bf16", None),
        ("TPU v4", "bf16", None),
    ],
)
def test_dense_peaks(trace: Trace, gpu: str, precision: str, peak: float | None) -> None:
    row = describe(trace, hardware__gpu=gpu, training__precision=precision)
    assert row["peak_flops_per_s"] == peak
    kind = row["precision"]
    assert row["missing"] == (None if peak else f'dense {kind} peak of hardware.gpu "{gpu}"')


def test_what_the_traces_show_counts_first(trace: Trace) -> None:
    trace.device(name="NVIDIA H100 PCIe")
    row = describe(trace, hardware__gpu="H100 SXM")
    assert (row["gpu"], row["peak_flops_per_s"]) == ("NVIDIA H100 PCIe", 756e12)


def test_counts_of_gpus_that_disagree(trace: Trace) -> None:
    row = describe(trace, parallelism__world_size=8.0)
    assert row["gpu_count"] is None
    assert row["missing"] == "hardware.gpu_count (world_size says 8)"


def test_a_batch_out_of_its_parts(trace: Trace) -> None:
    parts = {"training__micro_batch_size": 2, "training__gradient_accumulation": 3}
    row = describe(trace, "training.global_batch_size", parallelism__data=4, **parts)
    assert (row["tokens_per_step"], row["accumulation_count"]) == (24 * 2000, 3)


def test_heads_tell_the_width_of_attention(trace: Trace) -> None:
    row = describe(trace, model__attention_heads=16, model__head_size=128)
    assert row["attention_width"] == 2048


@pytest.mark.parametrize(
    ("flags", "precision"),
    [({"bf16": "True", "fp16": "False"}, "bf16"), ({"bf16": "True", "fp16": "True"}, None)],
)
def test_megatron_says_its_precision_by_a_flag(
    trace: Trace, flags: dict[str, str], precision: str | None
) -> None:
    for name, value in flags.items():
        trace.insert("job_argument", source_id="log", line=1, name=name, value=value)
    assert describe(trace, "training.precision")["precision"] == precision


def test_nothing_known(trace: Trace) -> None:
    trace.description("run.name", "x")
    row = trace.only("FROM run_model")
    assert row["missing"] == (
        "model.parameters, model.layers, model.hidden_size, model.sequence_length,"
        " hardware.gpu_count, training.precision, hardware.gpu"
    )
