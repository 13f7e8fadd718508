-- The GPU waits for launch calls themselves.
-- Grain: one row per (run_id, evidence).
-- Hint: Fuse small kernels, or record them in a CUDA graph.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         Call with most of this time; of gaps too short to be looked at one by
--                one, that they are.
-- value          Saved without it / step.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    severity,
    wall,
    NULL::VARCHAR AS subject,
    CASE WHEN cause = 'short_gap' THEN 'gaps between kernels that each last less than '
        || threshold_of('kernel_gap_ns')::BIGINT || ' ns'
        ELSE responsible END AS detail,
    saved_share AS value,
    threshold_of('warning_share') AS threshold,
    'share' AS unit,
    saved_share AS cost_share,
    'kernel_gap_cause' AS evidence_view,
    'cause = ''' || cause || '''' AS evidence
FROM idle_cost
WHERE cause IN ('launch_call', 'short_gap')
    AND saved_share > threshold_of('warning_share')
