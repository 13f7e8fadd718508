-- Forward work is done again in the backward pass (activation checkpointing).
-- Grain: one row per run_id.
-- Hint: Worth its time only where memory is short: recompute selectively, or not at all
--   if there is headroom.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         What tells it.
-- value          Recomputed / all compute of the step, mean.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'info' AS severity,
    'memory capacity' AS wall,
    NULL::VARCHAR AS subject,
    any_value(evidence) AS detail,
    avg(step_share) AS value,
    threshold_of('recomputation_share') AS threshold,
    'share' AS unit,
    avg(step_share) AS cost_share,
    'recomputation' AS evidence_view,
    'step_share > 0' AS evidence
FROM recomputation
WHERE exclusion IS NULL AND step_share IS NOT NULL
GROUP BY run_id
HAVING avg(step_share) > threshold_of('recomputation_share')
