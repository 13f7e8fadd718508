-- Copies between host and device run with nothing beside them.
-- Grain: one row per run_id.
-- Hint: Copy from pinned memory on a stream of its own, one batch ahead; keep what is
--   used again on the device.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         NULL.
-- value          Saved without them / step.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    CASE WHEN is_wall THEN 'wall' ELSE 'warning' END AS severity,
    wall,
    subject,
    NULL::VARCHAR AS detail,
    cost_share AS value,
    threshold_of('warning_share') AS threshold,
    'share' AS unit,
    cost_share,
    evidence_view,
    evidence
FROM wall
WHERE wall = 'memory copies' AND cost_share > threshold_of('warning_share')
