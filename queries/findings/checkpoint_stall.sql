-- The GPUs wait while a checkpoint is written.
-- Grain: one row per run_id.
-- Hint: Write checkpoints asynchronously, or less often.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         Call or range with most of this time.
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
    responsible AS detail,
    saved_share AS value,
    threshold_of('warning_share') AS threshold,
    'share' AS unit,
    saved_share AS cost_share,
    'kernel_gap_cause' AS evidence_view,
    'cause = ''' || cause || '''' AS evidence
FROM idle_cost
WHERE cause = 'checkpoint' AND saved_share > threshold_of('warning_share')
