"""How much of the hardware's peak the model uses: MFU and HFU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("model_flops_utilisation",)

TABLE_SQL = """SELECT
    CASE WHEN attempt > 1 THEN origin || ', attempt ' || attempt ELSE origin END AS steps_by,
    mfu_share,
    hfu_share,
    reported_mfu_share,
    mfu_ratio,
    model_flops_per_s_per_gpu,
    reported_flops_per_s_per_gpu,
    step_ns,
    tokens_per_s,
    flops_per_token,
    gpu_count,
    gpu,
    precision,
    peak_flops_per_s,
    recomputation,
    reason
FROM model_flops_utilisation
ORDER BY origin, attempt, source_id"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "Model FLOP utilisation",
        "MFU: FLOP that the model needs for its tokens / FLOP of the GPUs at their dense peak in "
        "the same time; 6 a weight and token, and 12 x layers x width x sequence for attention, "
        "a causal mask not halved. HFU counts what is computed again. What the framework "
        "reports, by its own formula and peak, stands beside it with the ratio.",
    )
    made = table(
        connection,
        "model_flops_utilisation",
        Source("model_flops_utilisation", TABLE_SQL),
        "MFU by what measured the steps",
        {"mfu_share": "mfu_share", "hfu_share": "hfu_share"},
    )
    if made is None:
        empty = (
            "No training steps are known; name them with NVTX ranges and capture again, or put "
            "the training log beside the traces."
        )
        return Section("utilisation", title, explanation, empty=empty)
    return Section("utilisation", title, explanation, tables=(made,))
