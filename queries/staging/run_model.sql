-- What counts the FLOP of a run's step: model, batch, GPUs and their dense peak, out of
-- run_fact and the traced GPUs.
-- Grain: one row per run_id.
--
-- run_id            Run; those of which any fact is known.
-- parameter_count   Weights that a token passes: active_parameters, else parameters of a
--                   model without experts; NULL when not known.
-- layer_count       Transformer layers.
-- attention_width   Heads x head size, else hidden size.
-- sequence_length   Tokens of one sample.
-- tokens_per_step   Global batch x sequence length; the batch is else micro batch x
--                   accumulation x data parallel size.
-- accumulation_count  Passes of a step: as said, else batch / (micro batch x data
--                   parallel size).
-- gpu_count         GPUs: hardware.gpu_count or world_size; NULL when these disagree.
-- gpu               GPU: of the traces, else hardware.gpu of run_fact.
-- precision         bf16, fp16, fp8, tf32 or fp32; NULL when not known.
-- peak_flops_per_s  Dense peak of one GPU in that precision, of the data sheet; NULL
--                   unless every product that the name can mean has the same.
-- recomputation     none, selective or full; NULL when not known.
-- lora_rank         Rank of adapters; NULL when not said.
-- missing           What is not known and should be, in the words of run.toml; NULL when
--                   nothing is missing.
WITH fact AS (
    SELECT
        run_id,
        max(value_number) FILTER (key = 'model.parameters') AS parameters,
        max(value_number) FILTER (key = 'model.active_parameters') AS active_parameters,
        max(value_number) FILTER (key = 'model.experts') AS experts,
        max(value_number) FILTER (key = 'model.layers') AS layers,
        max(value_number) FILTER (key = 'model.hidden_size') AS hidden_size,
        max(value_number) FILTER (key = 'model.attention_heads') AS heads,
        max(value_number) FILTER (key = 'model.head_size') AS head_size,
        max(value_number) FILTER (key = 'model.sequence_length') AS sequence_length,
        max(value_number) FILTER (key = 'model.lora_rank') AS lora_rank,
        max(value_number) FILTER (key = 'training.global_batch_size') AS batch,
        max(value_number) FILTER (key = 'training.micro_batch_size') AS micro_batch,
        max(value_number) FILTER (key = 'training.gradient_accumulation')
            AS accumulation,
        max(value_number) FILTER (key = 'parallelism.data') AS data,
        max(value_number) FILTER (key = 'hardware.gpu_count') AS gpu_count,
        max(value_number) FILTER (key = 'parallelism.world_size') AS world_size,
        max(value_text) FILTER (key = 'hardware.gpu') AS gpu,
        lower(max(value_text) FILTER (key = 'training.precision')) AS precision,
        lower(max(value_text) FILTER (key = 'training.recomputation')) AS recomputation
    FROM run_fact
    GROUP BY run_id
),
-- Megatron says its precision by a flag.
flagged AS (
    SELECT run_id, CASE WHEN count(DISTINCT lower(name)) = 1 THEN lower(min(name)) END
            AS precision
    FROM job_argument
    WHERE lower(name) IN ('bf16', 'fp16') AND lower(trim(value)) = 'true'
    GROUP BY run_id
),
traced AS (
    SELECT run_id, min(gpu_name) AS gpu
    FROM traced_device
    GROUP BY run_id
    HAVING count(DISTINCT gpu_name) = 1
),
described AS (
    SELECT
        f.* EXCLUDE (gpu, precision),
        t.gpu AS traced_gpu,
        f.gpu AS told_gpu,
        CASE coalesce(f.precision, g.precision)
            WHEN 'bfloat16' THEN 'bf16'
            WHEN 'float16' THEN 'fp16'
            WHEN 'half' THEN 'fp16'
            WHEN 'float8' THEN 'fp8'
            WHEN 'float32' THEN 'fp32'
            ELSE coalesce(f.precision, g.precision)
        END AS precision
    FROM fact AS f
    LEFT JOIN flagged AS g USING (run_id)
    LEFT JOIN traced AS t USING (run_id)
),
-- A name may be a product's, or the beginning of some rows' names, as "H100 SXM"; the
-- peak is known when all of these agree. L4 is no beginning of L40, nor V100 of V100S.
meant AS (
    SELECT
        d.name,
        d.precision,
        CASE WHEN count(DISTINCT p.peak) = 1 AND count(p.peak) = count(*)
            THEN any_value(p.peak) END AS peak
    FROM (
        SELECT DISTINCT unnest([traced_gpu, told_gpu]) AS name, precision FROM described
    ) AS d
    JOIN (
        SELECT
            gpu,
            pattern,
            unnest([
                {'precision': 'bf16', 'peak': bf16_tensor_flops_per_s},
                {'precision': 'fp16', 'peak': fp16_tensor_flops_per_s},
                {'precision': 'fp8', 'peak': fp8_tensor_flops_per_s},
                {'precision': 'tf32', 'peak': tf32_tensor_flops_per_s},
                {'precision': 'fp32', 'peak': fp32_flops_per_s}
            ], recursive := true)
        FROM gpu
    ) AS p
        ON p.precision = d.precision
        AND (
            d.name LIKE p.pattern
            OR starts_with(lower(p.gpu), lower(d.name))
            AND NOT (
                right(d.name, 1) BETWEEN '0' AND '9'
                AND substr(p.gpu, length(d.name) + 1, 1) NOT IN ('', ' ')
            )
        )
        AND d.name NOT LIKE '% MIG %'
    GROUP BY d.name, d.precision
),
counted AS (
    SELECT
        d.*,
        coalesce(
            d.active_parameters,
            CASE WHEN coalesce(d.experts, 1) <= 1 THEN d.parameters END
        ) AS parameter_count,
        coalesce(d.heads * d.head_size, d.hidden_size) AS attention_width,
        coalesce(d.batch, d.micro_batch * d.accumulation * d.data) AS batch_size,
        CASE WHEN coalesce(d.gpu_count = d.world_size, true)
            THEN coalesce(d.gpu_count, d.world_size) END AS gpus,
        coalesce(t.peak, o.peak) AS peak,
        CASE WHEN t.peak IS NOT NULL OR o.peak IS NULL
            THEN coalesce(d.traced_gpu, d.told_gpu) ELSE d.told_gpu END AS gpu
    FROM described AS d
    LEFT JOIN meant AS t ON t.name = d.traced_gpu AND t.precision = d.precision
    LEFT JOIN meant AS o ON o.name = d.told_gpu AND o.precision = d.precision
)
SELECT
    run_id,
    parameter_count,
    layers AS layer_count,
    attention_width,
    sequence_length,
    batch_size * sequence_length AS tokens_per_step,
    coalesce(accumulation, batch / (micro_batch * data)) AS accumulation_count,
    gpus::BIGINT AS gpu_count,
    gpu,
    CASE WHEN precision IN ('bf16', 'fp16', 'fp8', 'tf32', 'fp32') THEN precision END
        AS precision,
    peak::DOUBLE AS peak_flops_per_s,
    CASE WHEN recomputation IN ('none', 'selective', 'full') THEN recomputation END
        AS recomputation,
    lora_rank,
    nullif(concat_ws(
        ', ',
        CASE WHEN parameter_count IS NULL AND experts > 1 THEN 'model.active_parameters'
            WHEN parameter_count IS NULL THEN 'model.parameters' END,
        CASE WHEN layers IS NULL THEN 'model.layers' END,
        CASE WHEN attention_width IS NULL THEN 'model.hidden_size' END,
        CASE WHEN sequence_length IS NULL THEN 'model.sequence_length' END,
        CASE WHEN gpus IS NULL AND gpu_count IS NOT NULL
            THEN 'hardware.gpu_count (world_size says ' || world_size::BIGINT || ')'
            WHEN gpus IS NULL THEN 'hardware.gpu_count' END,
        CASE WHEN precision IS NULL THEN 'training.precision' END,
        CASE WHEN precision IS NOT NULL AND peak IS NULL AND gpu IS NOT NULL
            THEN 'dense ' || precision || ' peak of hardware.gpu "' || gpu || '"'
            WHEN gpu IS NULL THEN 'hardware.gpu' END
    ), '') AS missing
FROM counted
