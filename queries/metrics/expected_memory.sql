-- What a run's training state should need on one GPU by rules of thumb, from run.toml or
-- the training log, beside what was measured. 16 B a parameter: 2 weights, 2 gradients,
-- 12 optimizer (fp32 copy and two moments of Adam). 20 B: 4 more for gradients in fp32,
-- and 100 B of activations for each token of the batch (its published example, 0.2 TB for
-- 1024 x 2048 tokens, does not follow: that is 0.2 GB). ZeRO 1 divides the optimizer over
-- the data-parallel ranks, 2 the gradients too, 3 all; tensor and pipeline parallelism
-- divide everything. How many weights experts have is not told, so with expert
-- parallelism the state of one GPU is not known. LoRA: 2 B for each frozen weight, 16 for
-- each of the adapters, whose number follows from the shapes of the layers.
-- Grain: one row per (run_id, rule).
--
-- run_id           Run.
-- rule             Rule.
-- parameters       Weights of the model.
-- trained_parameters  Weights that are trained: all, or the adapters.
-- data_parallel    Data-parallel ranks; NULL when not known.
-- model_parallel   Tensor times pipeline ranks; 1 where neither is given.
-- zero_stage       ZeRO stage; 0 where none is given.
-- state_bytes      Weights, gradients and optimizer of the whole job, once.
-- activation_bytes  Activations of the whole batch; NULL for rules without them.
-- gpu_bytes        State and activations on one GPU; NULL when not known.
-- measured_peak_bytes  Most device memory in use on a GPU of the run; NULL when not
--                  sampled.
-- measured_ratio   Measured / expected.
-- reason           What is missing; NULL when nothing is.
WITH fact AS (
    SELECT
        run_id,
        max(value_number) FILTER (key = 'model.parameters') AS parameters,
        max(value_number) FILTER (key = 'model.layers') AS layers,
        max(value_number) FILTER (key = 'model.hidden_size') AS hidden,
        max(value_number) FILTER (key = 'model.ffn_hidden_size') AS ffn,
        max(value_number) FILTER (key = 'model.attention_heads') AS heads,
        max(value_number) FILTER (key = 'model.kv_heads') AS kv_heads,
        max(value_number) FILTER (key = 'model.head_size') AS head_size,
        max(value_number) FILTER (key = 'model.experts') AS experts,
        max(value_number) FILTER (key = 'parallelism.expert') AS expert_parallel,
        max(value_number) FILTER (key = 'model.lora_rank') AS lora_rank,
        max(value_number) FILTER (key = 'model.sequence_length') AS sequence_length,
        max(value_number) FILTER (key = 'training.global_batch_size') AS batch,
        max(value_number) FILTER (key = 'parallelism.data') AS told_data,
        coalesce(max(value_number) FILTER (key = 'parallelism.tensor'), 1) AS tensor,
        coalesce(max(value_number) FILTER (key = 'parallelism.pipeline'), 1) AS pipeline,
        coalesce(max(value_number) FILTER (key = 'parallelism.context'), 1) AS context,
        coalesce(max(value_number) FILTER (key = 'parallelism.zero_stage'), 0) AS zero,
        coalesce(
            max(value_number) FILTER (key = 'parallelism.world_size'),
            max(value_number) FILTER (key = 'hardware.gpu_count')
        ) AS world
    FROM run_fact
    GROUP BY run_id
),
shaped AS (
    SELECT
        *,
        coalesce(told_data, world / (tensor * pipeline * context)) AS data,
        coalesce(head_size, hidden / heads) * heads AS query_width,
        coalesce(head_size, hidden / heads) * coalesce(kv_heads, heads) AS kv_width
    FROM fact
    WHERE parameters IS NOT NULL OR layers IS NOT NULL
),
adapted AS (
    SELECT
        *,
        -- A rank-r adapter of an a x b matrix has r x (a + b) weights: query, key, value
        -- and output; then gate, up and down of a gated feed-forward layer.
        CASE WHEN experts > 1 THEN NULL ELSE lora_rank * layers * (
            2 * (hidden + query_width) + 2 * (hidden + kv_width)
        ) END AS attention_weights,
        CASE WHEN experts > 1 THEN NULL ELSE lora_rank * layers * 3 * (hidden + ffn) END
            AS ffn_weights
    FROM shaped
),
ruled AS (
    SELECT *, '16 B per parameter' AS rule, parameters AS trained,
        2 AS weight_bytes, 2 AS gradient_bytes, 12 AS optimizer_bytes, false AS has_batch
    FROM adapted WHERE lora_rank IS NULL
    UNION ALL
    SELECT *, '20 B per parameter and activations', parameters, 2, 6, 12, true
    FROM adapted WHERE lora_rank IS NULL
    UNION ALL
    SELECT *, 'LoRA on attention', attention_weights, 2, 2, 12, false
    FROM adapted WHERE lora_rank IS NOT NULL
    UNION ALL
    SELECT *, 'LoRA on attention and feed-forward', attention_weights + ffn_weights,
        2, 2, 12, false
    FROM adapted WHERE lora_rank IS NOT NULL
),
sized AS (
    SELECT
        *,
        CASE WHEN lora_rank IS NULL THEN 0 ELSE parameters * weight_bytes END
            AS frozen_bytes,
        trained * weight_bytes AS trained_bytes,
        CASE WHEN has_batch THEN batch * sequence_length * 100 END AS activation_bytes,
        CASE WHEN zero = 0 THEN 1 ELSE data END AS shards
    FROM ruled
),
divided AS (
    SELECT
        *,
        frozen_bytes + trained_bytes + trained * (gradient_bytes + optimizer_bytes)
            AS state_bytes,
        CASE WHEN coalesce(expert_parallel, 1) <= 1 THEN (
            (frozen_bytes + trained_bytes) / CASE WHEN zero >= 3 THEN shards ELSE 1 END
            + trained * gradient_bytes / CASE WHEN zero >= 2 THEN shards ELSE 1 END
            + trained * optimizer_bytes / CASE WHEN zero >= 1 THEN shards ELSE 1 END
        ) / (tensor * pipeline)
            + CASE WHEN has_batch
                THEN activation_bytes / (data * tensor * pipeline * context) ELSE 0 END
        END AS gpu_bytes
    FROM sized
),
measured AS (
    SELECT run_id, max(peak_used_bytes) AS peak_bytes
    FROM memory_headroom
    GROUP BY run_id
)
SELECT
    d.run_id,
    d.rule,
    d.parameters,
    d.trained AS trained_parameters,
    d.data AS data_parallel,
    d.tensor * d.pipeline AS model_parallel,
    d.zero AS zero_stage,
    d.state_bytes,
    d.activation_bytes,
    d.gpu_bytes,
    m.peak_bytes AS measured_peak_bytes,
    m.peak_bytes / d.gpu_bytes AS measured_ratio,
    CASE
        WHEN d.gpu_bytes IS NOT NULL THEN NULL
        WHEN d.parameters IS NULL THEN 'model.parameters is not known'
        WHEN d.expert_parallel > 1
            THEN 'expert parallelism divides the weights of experts, whose number is not '
                || 'known'
        WHEN d.experts > 1 AND d.trained IS NULL
            THEN 'adapters of experts have no known shape'
        WHEN d.trained IS NULL THEN 'shapes of the layers are not known: '
            || 'layers, hidden_size, attention_heads, ffn_hidden_size'
        WHEN d.zero > 0 AND d.data IS NULL THEN 'parallelism.data is not known'
        WHEN d.activation_bytes IS NULL
            THEN 'global_batch_size or sequence_length is not known'
        ELSE 'parallelism.data or world_size is not known'
    END AS reason
FROM divided AS d
LEFT JOIN measured AS m USING (run_id)
ORDER BY d.run_id, d.rule
