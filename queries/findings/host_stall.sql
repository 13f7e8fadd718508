-- The launching thread is busy with its own work (Python, framework) and launches late.
-- Grain: one row per run_id.
-- Hint: Use CUDA graphs or torch.compile where shapes are fixed; pin the process to
--   cores near its GPU.
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
WITH responsible AS (
    SELECT
        run_id,
        arg_max(responsible, (responsible_ns, responsible)) AS responsible
    FROM kernel_gap_cause
    WHERE cause = 'other_host' AND exclusion IS NULL
    GROUP BY run_id
)
SELECT
    w.run_id,
    CASE WHEN l.is_wall AND w.saved_share >= threshold_of('wall_share') THEN 'wall'
        ELSE 'warning' END AS severity,
    'launch' AS wall,
    NULL::VARCHAR AS subject,
    r.responsible AS detail,
    w.saved_share AS value,
    threshold_of('warning_share') AS threshold,
    'share' AS unit,
    w.saved_share AS cost_share,
    'kernel_gap_cause' AS evidence_view,
    'cause = ''other_host''' AS evidence
FROM what_if AS w
LEFT JOIN responsible AS r USING (run_id)
LEFT JOIN wall AS l ON l.run_id = w.run_id AND l.wall = 'launch'
WHERE w.scenario = 'no idle time: other_host'
    AND w.saved_share > threshold_of('warning_share')
