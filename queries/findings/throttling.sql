-- GPUs run at a lower clock than they could.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Heat: look at fans, airflow and the rack's inlet. Power: look at the power
--   limit, the power supplies and what shares their phase. No reason: swap the GPU.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Where.
-- detail         What held the clock down, how many GPUs, when, and what steps took.
-- value          Mean distance below the ordinary clock.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    t.run_id,
    CASE
        -- Where no step tells, at most what the clock lost.
        WHEN coalesce(
            share_of(coalesce(t.lost_ns, t.fallen_share * t.dur_ns), s.observed_ns)
                >= threshold_of('warning_share'), true
        ) THEN CASE WHEN l.is_wall THEN 'wall' ELSE 'warning' END
        -- Over by now, or rare; but while it lasts the job loses much.
        WHEN t.throughput_loss_share >= threshold_of('wall_share') THEN 'warning'
        ELSE 'info'
    END AS severity,
    'power' AS wall,
    concat_ws(' ', t.scope, t.place) AS subject,
    concat(
        t.limited_by, ': ', t.gpu_count, ' of ', t.run_gpu_count, ' GPUs, ', t.gpus,
        coalesce('; ' || t.summary, ''),
        coalesce('; ' || t.cost_reason, '')
    ) AS detail,
    t.fallen_share AS value,
    NULL::DOUBLE AS threshold,
    'share' AS unit,
    share_of(t.lost_ns, s.observed_ns) AS cost_share,
    'throttle_event' AS evidence_view,
    'event = ' || t.event AS evidence
FROM throttle_event AS t
LEFT JOIN run_scale AS s USING (run_id)
LEFT JOIN wall AS l ON l.run_id = t.run_id AND l.wall = 'power'
WHERE t.family IN ('power', 'thermal', 'unexplained')
