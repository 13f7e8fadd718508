-- GPUs run nothing for much of the time.
-- Grain: one row per run_id.
-- Hint: A capture with Nsight Systems says what they wait for; healthy jobs hold above
--   80 %.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         How many of the sampled GPUs.
-- value          Median over GPUs of the mean GPU-Util.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH used AS (
    SELECT
        run_id,
        count(*) AS gpu_count,
        count(*) FILTER (mean_value < threshold_of('low_gpu_use_share')) AS low_count,
        median(mean_value) AS median_share
    FROM gpu_utilisation
    WHERE is_primary AND metric = 'gpu_util_share' AND reason IS NULL
    GROUP BY run_id
)
SELECT
    run_id,
    'warning' AS severity,
    NULL::VARCHAR AS wall,
    NULL::VARCHAR AS subject,
    low_count || ' of ' || gpu_count || ' GPUs' AS detail,
    median_share AS value,
    threshold_of('low_gpu_use_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'gpu_utilisation' AS evidence_view,
    'metric = ''gpu_util_share'' AND is_primary' AS evidence
FROM used
WHERE median_share < threshold_of('low_gpu_use_share')
