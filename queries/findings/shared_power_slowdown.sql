-- GPUs that share a power supply slow down together: it is overloaded, not the GPUs.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Move load off that phase of the PDU, or cap the GPUs' power below it; the
--   facility's log of that minute should agree.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Power domain, rack or host.
-- detail         How many GPUs, when, and what steps took, or why that is not known.
-- value          GPUs slowed down.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    t.run_id,
    'fault' AS severity,
    'power' AS wall,
    concat_ws(' ', t.scope, t.place) AS subject,
    concat(
        t.gpu_count, ' of ', t.place_gpu_count, ' GPUs there: ', t.limited_by,
        coalesce('; ' || t.summary, ''),
        coalesce('; ' || t.cost_reason, '')
    ) AS detail,
    t.gpu_count AS value,
    NULL::DOUBLE AS threshold,
    'GPU' AS unit,
    share_of(t.lost_ns, s.observed_ns) AS cost_share,
    'throttle_event' AS evidence_view,
    'event = ' || t.event AS evidence
FROM throttle_event AS t
LEFT JOIN run_scale AS s USING (run_id)
WHERE t.family = 'power'
    AND t.reason_names LIKE '%power brake%'
    AND t.scope IN ('host', 'power domain', 'rack')
    AND t.gpu_count > 1
