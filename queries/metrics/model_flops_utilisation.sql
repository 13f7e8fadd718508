-- MFU and HFU: FLOP that the model needs for its tokens / what the GPUs could do in that
-- time at their dense peak. A token takes 6 N FLOP for N weights and 12 L H T for the
-- attention of L layers of width H over T tokens (PaLM, appendix B; a causal mask does
-- not halve it). HFU counts recomputation: full 8 N + 16 L H T, selective 6 N + 16 L H T.
-- Grain: one row per (run_id, origin, attempt, source_id).
-- Better: higher.
-- Value: mfu_share, hfu_share, reported_mfu_share, model_flops_per_s_per_gpu.
--
-- run_id           Run.
-- origin           What measured the steps: nsys, or the framework whose log it is.
-- attempt          Attempt within the log, from 1; NULL for nsys.
-- mfu_share        MFU in (0, 1]; NULL: see reason.
-- hfu_share        HFU in (0, 1]; NULL: see reason, or recomputation is not known.
-- weights_mfu_share  MFU without the attention term.
-- reported_mfu_share  MFU that the framework printed, by its own formula and peak.
-- mfu_ratio        mfu / the reported one.
-- model_flops_per_s_per_gpu  FLOP/s of the model on one GPU.
-- reported_flops_per_s_per_gpu  The framework's, by its own formula.
-- flops_ratio      model_flops_per_s_per_gpu / the reported one.
-- step_ns          Median step.
-- tokens_per_s     Tokens of the whole job: as the log says, else tokens_per_step / step.
-- flops_per_token  FLOP of the model for a token.
-- hardware_flops_per_token  With what is computed again; NULL when that is not known.
-- parameter_count  Weights that a token passes.
-- recomputation    none, selective or full; NULL when not known.
-- gpu_count        GPUs.
-- gpu              GPU.
-- precision        Precision of the peak.
-- peak_flops_per_s  Dense peak of one GPU, data sheet.
-- reason           Why there is no MFU: what is not known (run.toml can say it), or that
--                  the value is impossible.
-- source_id        The log; NULL for nsys.
WITH stepped AS (
    SELECT
        d.run_id,
        'nsys' AS origin,
        median(s.end_ns - s.begin_ns) AS step_ns,
        bool_or(s.origin = 'kernel period') AS is_by_period
    FROM device_step AS s
    JOIN traced_device AS d USING (device_key)
    WHERE s.exclusion IS NULL
    GROUP BY d.run_id
    UNION ALL BY NAME
    SELECT
        run_id,
        framework AS origin,
        attempt,
        median_step_ns AS step_ns,
        false AS is_by_period,
        tokens_per_s,
        tokens_per_s_per_gpu,
        reported_mfu_share,
        reported_flops_per_s_per_gpu,
        source_id
    FROM training_step_summary
),
rated AS (
    SELECT
        s.* EXCLUDE (tokens_per_s, tokens_per_s_per_gpu),
        m.* EXCLUDE (run_id),
        coalesce(
            s.tokens_per_s,
            s.tokens_per_s_per_gpu * m.gpu_count,
            m.tokens_per_step * 1e9 / nullif(s.step_ns, 0)
        ) AS tokens_per_s,
        12 * m.layer_count * m.attention_width * m.sequence_length AS attention,
        CASE WHEN m.lora_rank > 0
            THEN 'model.lora_rank is set: 6 N a token does not hold for frozen weights'
            END AS adapter_reason,
        -- A period of kernels may be a pass of several that make a step.
        CASE WHEN s.is_by_period AND coalesce(m.accumulation_count, 0) <> 1
            THEN 'steps are known by the period of kernels alone, and that '
                || 'training.gradient_accumulation is 1 is not' END AS period_reason
    FROM stepped AS s
    LEFT JOIN run_model AS m USING (run_id)
),
worked AS (
    SELECT
        *,
        adapter_reason IS NULL AND period_reason IS NULL AS is_countable,
        6 * parameter_count + attention AS flops_per_token,
        CASE recomputation
            WHEN 'none' THEN 6 * parameter_count + attention
            WHEN 'selective' THEN 6 * parameter_count + attention * 4 / 3
            WHEN 'full' THEN (6 * parameter_count + attention) * 4 / 3
        END AS hardware_flops_per_token,
        tokens_per_s / nullif(gpu_count, 0) AS own_tokens_per_s
    FROM rated
),
utilised AS (
    SELECT
        *,
        CASE WHEN is_countable THEN flops_per_token * own_tokens_per_s END
            AS model_flops_per_s_per_gpu,
        CASE WHEN is_countable
            THEN flops_per_token * own_tokens_per_s / peak_flops_per_s END AS mfu,
        CASE WHEN is_countable
            THEN hardware_flops_per_token * own_tokens_per_s / peak_flops_per_s
            END AS hfu,
        CASE WHEN is_countable
            THEN 6 * parameter_count * own_tokens_per_s / peak_flops_per_s END
            AS weights_mfu
    FROM worked
)
SELECT
    run_id,
    origin,
    attempt,
    CASE WHEN mfu > 0 AND mfu <= 1 THEN mfu END AS mfu_share,
    CASE WHEN mfu > 0 AND mfu <= 1 AND hfu <= 1 THEN hfu END AS hfu_share,
    CASE WHEN weights_mfu > 0 AND weights_mfu <= 1 THEN weights_mfu END
        AS weights_mfu_share,
    reported_mfu_share,
    mfu_share / nullif(reported_mfu_share, 0) AS mfu_ratio,
    model_flops_per_s_per_gpu,
    reported_flops_per_s_per_gpu,
    model_flops_per_s_per_gpu / nullif(reported_flops_per_s_per_gpu, 0) AS flops_ratio,
    step_ns::BIGINT AS step_ns,
    tokens_per_s,
    flops_per_token,
    hardware_flops_per_token,
    parameter_count,
    recomputation,
    gpu_count,
    gpu,
    precision,
    peak_flops_per_s,
    nullif(concat_ws(
        '; ',
        adapter_reason,
        period_reason,
        CASE WHEN parameter_count IS NULL AND missing IS NULL
            THEN 'not known: model.parameters' END,
        'not known: ' || missing,
        CASE WHEN tokens_per_s IS NULL
            THEN 'tokens per second not known: no training.global_batch_size with a step '
                || 'time, and none logged' END,
        CASE WHEN mfu > 1 OR mfu <= 0 THEN printf(
            'MFU would be %.3g, which cannot be: check parameters, batch, GPUs and steps',
            mfu
        ) WHEN hfu > 1 THEN printf(
            'HFU would be %.3g, which cannot be: check training.recomputation', hfu
        ) END
    ), '') AS reason,
    source_id
FROM utilised
ORDER BY run_id, origin, attempt, source_id
