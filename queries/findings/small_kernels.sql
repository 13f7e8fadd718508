-- Most kernels are shorter than their own launch.
-- Grain: one row per run_id.
-- Hint: CUDA graphs, fusion (torch.compile), a larger micro-batch.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         NULL.
-- value          Kernels below short_kernel_ns / all, of the device with most.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'info' AS severity,
    'launch' AS wall,
    NULL::VARCHAR AS subject,
    NULL::VARCHAR AS detail,
    max(short_kernel_share) AS value,
    threshold_of('short_kernel_count_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'launch_summary' AS evidence_view,
    NULL::VARCHAR AS evidence
FROM launch_summary
GROUP BY run_id
HAVING max(short_kernel_share) > threshold_of('short_kernel_count_share')
