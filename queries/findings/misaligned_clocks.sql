-- Clocks of CPU and GPU disagree in this capture, so idle time cannot be explained.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Capture again with a newer Nsight Systems; the numbers that need only the GPU's
--   clock hold.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Device.
-- detail         What shows it, and by how much they disagree at least.
-- value          Share of activities that start before their own launch call; or of calls
--                that returned before the end of the work they waited for.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH judged AS (
    SELECT
        *,
        share_of(early_count, launched_count) > threshold_of('clock_early_share')
            AS is_behind
    FROM launch_summary
    WHERE NOT is_aligned
)
SELECT
    run_id,
    'warning' AS severity,
    NULL::VARCHAR AS wall,
    concat_ws(' ', host, 'device ' || device_id || ' of process ' || process) AS subject,
    CASE WHEN is_behind THEN 'work starts up to ' || disagreement_ns
            || ' ns before its own launch call'
        ELSE 'calls return up to ' || disagreement_ns
            || ' ns before the end of the work they waited for' END AS detail,
    CASE WHEN is_behind THEN share_of(early_count, launched_count)
        ELSE share_of(late_count, waited_count) END AS value,
    CASE WHEN is_behind THEN threshold_of('clock_early_share')
        ELSE threshold_of('clock_late_share') END AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'launch_summary' AS evidence_view,
    'source_id = ''' || source_id || ''' AND process = ' || process
        || ' AND device_id = ' || device_id AS evidence
FROM judged
