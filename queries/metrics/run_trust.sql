-- What keeps a verdict on a run from being sure, one doubt a row; no row means none.
-- Grain: one row per (run_id, doubt).
--
-- run_id         Run.
-- doubt          What is missing or does not fit, in words.
-- evidence_view  View that shows it.
SELECT run_id, doubt, evidence_view
FROM (
    SELECT
        run_id,
        rank_count || ' of ' || world_size || ' ranks are present' AS doubt,
        'run_evidence' AS evidence_view
    FROM run_evidence
    WHERE traced_count > 0 AND rank_count < world_size
    UNION ALL
    SELECT
        run_id,
        'fewer than ' || threshold_of('trusted_step_count')::INTEGER || ' steps',
        'step_time'
    FROM run_evidence
    WHERE step_count BETWEEN 1 AND threshold_of('trusted_step_count') - 1
    UNION ALL
    SELECT run_id, refused_count || ' files were refused', 'run_summary'
    FROM run_summary
    WHERE refused_count > 0
    UNION ALL
    SELECT run_id, incomplete_count || ' files are not whole', 'run_summary'
    FROM run_summary
    WHERE incomplete_count > 0
    UNION ALL
    SELECT
        run_id,
        'clocks of CPU and GPU disagree on ' || count(*) || ' devices',
        'launch_summary'
    FROM launch_summary
    WHERE NOT is_aligned
    GROUP BY run_id
)
ORDER BY run_id, doubt
