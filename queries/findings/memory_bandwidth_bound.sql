-- Kernels wait for memory more than they compute.
-- Grain: one row per run_id.
-- Hint: Fuse element-wise kernels and norms (torch.compile), use a fused optimizer and
--   FlashAttention; profile with Nsight Compute which kernels they are.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         NULL.
-- value          Time that memory costs beyond compute / step.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    CASE WHEN is_wall THEN 'wall' ELSE 'info' END AS severity,
    wall,
    subject,
    NULL::VARCHAR AS detail,
    cost_share AS value,
    limit_share AS threshold,
    'share' AS unit,
    cost_share,
    evidence_view,
    evidence
FROM wall
WHERE wall = 'memory bandwidth' AND cost_share > threshold_of('warning_share')
