-- The job reaches little of what its GPUs can compute.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: The walls above say where the time goes; 30 to 50 % is ordinary, 55 to 60 %
--   excellent.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        What measured the steps.
-- detail         NULL.
-- value          MFU.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'info' AS severity,
    'compute' AS wall,
    origin AS subject,
    NULL::VARCHAR AS detail,
    mfu_share AS value,
    threshold_of('low_mfu_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'model_flops_utilisation' AS evidence_view,
    'origin = ''' || origin || ''' AND attempt IS NOT DISTINCT FROM '
        || coalesce(attempt::VARCHAR, 'NULL') || ' AND source_id IS NOT DISTINCT FROM '
        || coalesce('''' || source_id || '''', 'NULL') AS evidence
FROM model_flops_utilisation
WHERE mfu_share < threshold_of('low_mfu_share')
