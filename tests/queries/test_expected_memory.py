from typing import Any

from rows import Trace

GB = 10**9


def expected(trace: Trace, **facts: float) -> dict[str, dict[str, Any]]:
    for name, value in facts.items():
        trace.description(name.replace("__", "."), str(value), value_number=value)
    cursor = trace.connection.execute("FROM expected_memory")
    names = [name for name, *_ in cursor.description or []]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return {row["rule"]: row for row in rows}


def test_7_billion_parameters_need_112_gb(trace: Trace) -> None:
    row = expected(trace, model__parameters=7e9)["16 B per parameter"]
    assert row["state_bytes"] == row["gpu_bytes"] == 112 * GB


def test_70_billion_by_the_coarser_rule(trace: Trace) -> None:
    rows = expected(
        trace,
        model__parameters=70e9,
        model__sequence_length=2048,
        training__global_batch_size=1024,
        parallelism__data=1,
    )
    row = rows["20 B per parameter and activations"]
    assert row["state_bytes"] == 1400 * GB
    assert row["activation_bytes"] == 1024 * 2048 * 100


def test_parallelism_divides(trace: Trace) -> None:
    facts = {"parallelism__tensor": 2, "parallelism__pipeline": 5, "parallelism__data": 10}
    row = expected(trace, model__parameters=10e9, **facts)["16 B per parameter"]
    assert row["gpu_bytes"] == 16 * GB


def test_expert_parallelism_divides_an_unknown_part(trace: Trace) -> None:
    facts = {"model__experts": 8.0, "parallelism__expert": 8.0, "parallelism__data": 8.0}
    row = expected(trace, model__parameters=46.7e9, **facts)["16 B per parameter"]
    assert (row["state_bytes"], row["gpu_bytes"]) == (747.2 * GB, None)
    assert "expert parallelism" in row["reason"]


def test_zero_stages(trace: Trace) -> None:
    for run_id, stage in (("r0", 0), ("r1", 1), ("r2", 2), ("r3", 3)):
        for key, value in (
            ("model.parameters", 1e9), ("parallelism.data", 4), ("parallelism.zero_stage", stage)
        ):  # fmt: skip
            trace.description(key, str(value), value_number=value, run_id=run_id)
    sql = "SELECT gpu_bytes / 1e9 FROM expected_memory WHERE rule LIKE '16%' ORDER BY run_id"
    # 2 + 2 + 12; the last, the last two, all over 4.
    assert trace.ask(sql) == [(16,), (7,), (5.5,), (4,)]


def test_zero_without_its_ranks_is_not_known(trace: Trace) -> None:
    row = expected(trace, model__parameters=1e9, parallelism__zero_stage=2)["16 B per parameter"]
    assert (row["gpu_bytes"], row["reason"]) == (None, "parallelism.data is not known")


def test_adapters_from_the_shapes_of_the_layers(trace: Trace) -> None:
    shapes = {"layers": 32, "hidden_size": 4096, "attention_heads": 32, "ffn_hidden_size": 11008}
    facts = {f"model__{name}": value for name, value in shapes.items()}
    rows = expected(trace, model__parameters=7e9, model__lora_rank=64, **facts)
    assert set(rows) == {"LoRA on attention", "LoRA on attention and feed-forward"}
    attention = rows["LoRA on attention"]
    # 32 layers x 4 matrices x 64 x (4096 + 4096).
    assert attention["trained_parameters"] == 32 * 4 * 64 * 8192
    assert attention["gpu_bytes"] == 14 * GB + 16 * 32 * 4 * 64 * 8192


def test_beside_what_was_measured(trace: Trace) -> None:
    trace.rounds(fb_used_bytes=[40 * GB, 24 * GB])
    row = expected(trace, model__parameters=1e9)["16 B per parameter"]
    assert (row["measured_peak_bytes"], row["measured_ratio"]) == (40 * GB, 2.5)


def test_without_the_number_of_parameters(trace: Trace) -> None:
    row = expected(trace, model__layers=32)["16 B per parameter"]
    assert (row["gpu_bytes"], row["reason"]) == (None, "model.parameters is not known")
