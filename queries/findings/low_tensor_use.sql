-- GPUs are busy, but their tensor cores are not.
-- Grain: one row per run_id.
-- Hint: Profile the kernels that take the time with Nsight Compute: memory bound ones
--   want fusion, small ones larger batches, wide types a narrower one.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         NULL.
-- value          Median of tensor active.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH used AS (
    SELECT
        run_id,
        median(median_value) FILTER (metric = 'tensor_active_share') AS tensor_share,
        median(median_value) FILTER (metric = 'sm_active_share') AS sm_share
    FROM gpu_utilisation
    WHERE is_primary
    GROUP BY run_id
)
SELECT
    run_id,
    'info' AS severity,
    'compute' AS wall,
    NULL::VARCHAR AS subject,
    NULL::VARCHAR AS detail,
    tensor_share AS value,
    threshold_of('low_tensor_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'gpu_utilisation' AS evidence_view,
    'metric = ''tensor_active_share''' AS evidence
FROM used
WHERE tensor_share < threshold_of('low_tensor_share')
    AND sm_share >= threshold_of('busy_sm_share')
