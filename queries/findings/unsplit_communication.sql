-- Communication is exposed, but one cannot tell waiting from transfer.
-- Grain: one row per run_id.
-- Hint: Capture all ranks of the job in the same steps, with clocks kept by NTP or PTP.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         Why it cannot be told.
-- value          Exposed communication / step.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'warning' AS severity,
    wall,
    subject,
    reason AS detail,
    bound_share AS value,
    threshold_of('exposed_communication_warning_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    evidence_view,
    evidence
FROM wall
WHERE wall = 'communication'
    AND cost_share IS NULL
    AND bound_share > threshold_of('exposed_communication_warning_share')
