-- How training went, as the job's own log tells it: time of steps, rates, losses.
-- Warm-up is left out: the first logged line of an attempt holds initialisation and
-- compilation. Step times are the printed ones; where none are, or only running means,
-- they follow from the framework's clock or the lines' times.
-- Grain: one row per (run_id, framework, attempt, source_id).
-- Better: higher.
-- Value: median_step_ns lower, p95_step_ns lower, tokens_per_s, tokens_per_s_per_gpu,
--   samples_per_s, reported_flops_per_s_per_gpu, reported_mfu_share.
-- Samples: logged_step_count.
--
-- run_id               Run.
-- framework            Framework that printed the steps.
-- attempt              Attempt within the log, from 1.
-- logged_step_count    Lines of training steps, that of the warm-up included.
-- first_step           First step.
-- last_step            Last step.
-- median_step_ns       Median time of a step; NULL with the warm-up only.
-- p95_step_ns          95th percentile of it.
-- tokens_per_s         Median tokens per second of the job: as printed, else batch times
--                      sequence length (an argument of the job) / step time.
-- tokens_per_s_per_gpu  Median tokens per second of one GPU, as printed.
-- samples_per_s        Median samples per second of the job: as printed, else batch /
--                      step time.
-- reported_flops_per_s_per_gpu  Median, by the framework's own formula.
-- reported_mfu_share   Median, by the framework's own formula and peak.
-- first_loss           First loss that is a number.
-- last_loss            Last one.
-- non_finite_loss_count  Lines with a loss that is NaN or infinite.
-- skipped_count        Steps said to be skipped; NULL when nothing is said.
-- source_id            Source file.
WITH
    argument AS (
        SELECT run_id, source_id, try_cast(any_value(value) AS BIGINT) AS seq_length
        FROM job_argument
        WHERE name = 'seq_length'
        GROUP BY run_id, source_id
        HAVING count(*) = 1
    ),

    stepped AS (
        SELECT
            *,
            row_number() OVER printer AS line_order,
            step - lag(step) OVER printer AS steps_since,
            ts_ns - lag(ts_ns) OVER printer AS since_ns,
            train_time_ns - lag(train_time_ns) OVER printer AS trained_ns
        FROM training_step
        WHERE kind = 'step'
        WINDOW printer AS (
            PARTITION BY run_id, source_id, framework, attempt, printed_rank, host
            ORDER BY line
        )
    ),

    timed AS (
        SELECT
            s.*,
            line_order > 1 AS is_warm,
            CASE
                WHEN trained_ns IS NOT NULL AND trained_ns <= 0 THEN NULL
                WHEN trained_ns IS NOT NULL THEN trained_ns / nullif(steps_since, 0)
                WHEN step_ns IS NOT NULL THEN nullif(step_ns, 0)
                WHEN since_ns > 0 AND steps_since > 0 THEN since_ns / steps_since
            END AS own_step_ns,
            a.seq_length
        FROM stepped AS s
        LEFT JOIN argument AS a USING (run_id, source_id)
    )

SELECT
    run_id,
    framework,
    attempt,
    count(*) AS logged_step_count,
    min(step) AS first_step,
    max(step) AS last_step,
    CAST(round(median(t.own_step_ns) FILTER (is_warm)) AS BIGINT) AS median_step_ns,
    CAST(round(
        quantile_cont(t.own_step_ns, 0.95) FILTER (is_warm)
    ) AS BIGINT) AS p95_step_ns,
    median(coalesce(
        t.tokens_per_s, global_batch_size * seq_length * 1e9 / own_step_ns
    )) FILTER (is_warm) AS tokens_per_s,
    median(t.tokens_per_s_per_gpu) FILTER (is_warm) AS tokens_per_s_per_gpu,
    median(coalesce(
        t.samples_per_s, global_batch_size * 1e9 / own_step_ns
    )) FILTER (is_warm) AS samples_per_s,
    median(t.reported_flops_per_s_per_gpu)
        FILTER (is_warm) AS reported_flops_per_s_per_gpu,
    median(t.reported_mfu_share) FILTER (is_warm) AS reported_mfu_share,
    arg_min(loss, line) AS first_loss,
    arg_max(loss, line) AS last_loss,
    count(*) FILTER (NOT is_loss_finite) AS non_finite_loss_count,
    CAST(sum(t.skipped_count) AS BIGINT) AS skipped_count,
    source_id
FROM timed AS t
GROUP BY run_id, framework, attempt, source_id
ORDER BY run_id, framework, source_id, attempt
