-- A few GPUs differ from the rest, which a mean over all of them hides.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Look at those GPUs, and at what they share: host, rack, power domain.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        What is compared.
-- detail         Which GPUs.
-- value          How far their median is off.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'info' AS severity,
    NULL::VARCHAR AS wall,
    concat_ws(' ', gpu_name, measure, direction) AS subject,
    concat(minority_count, ' of ', gpu_count, ' GPUs: ', gpus) AS detail,
    abs(difference_share) AS value,
    NULL::DOUBLE AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'fleet_minority' AS evidence_view,
    'measure = ''' || measure || ''' AND direction = ''' || direction || '''' AS evidence
FROM fleet_minority
