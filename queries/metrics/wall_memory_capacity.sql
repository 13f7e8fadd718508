-- Whether a run's device memory is full, and what its shortage costs: work of the
-- allocator inside the step.
-- Grain: one row per run_id.
--
-- run_id       Run.
-- wall         memory capacity.
-- subject      The fullest GPU; NULL when memory is not sampled.
-- cost_ns      Saved per step.
-- cost_share   cost / basis; NULL when unknown.
-- bound_share  Where the cost is unknown, at most this; NULL when nothing limits it.
-- is_evident   Whether it is a wall whatever it costs.
-- basis        What shares are of: step, or span where no steps are known.
-- evidence_view  View that shows it.
-- evidence     Condition on its rows; NULL for all of the run.
-- reason       Why the cost is unknown; else NULL.
-- need         What to collect to know it; see reference table collect.
WITH fullest AS (
    SELECT
        run_id,
        max(peak_share) AS peak_share,
        max(peak_used_bytes) AS peak_used_bytes,
        arg_max(gpu_called(host, device_id, gpu_id), peak_share) AS subject
    FROM memory_headroom
    WHERE is_primary
    GROUP BY run_id
),
allocator AS (
    SELECT run_id, saved_ns, saved_share
    FROM what_if
    WHERE scenario = 'no idle time: memory_management'
)
SELECT
    e.run_id,
    'memory capacity' AS wall,
    f.subject,
    CASE WHEN f.peak_share >= threshold_of('memory_full_share') THEN a.saved_ns END
        AS cost_ns,
    -- With room to spare, memory costs nothing.
    CASE WHEN f.peak_share >= threshold_of('memory_full_share') THEN a.saved_share
        WHEN f.peak_share IS NOT NULL THEN 0 END AS cost_share,
    CASE WHEN f.peak_share IS NULL AND e.traced_count > 0
        THEN coalesce(a.saved_share, 0) END AS bound_share,
    coalesce(f.peak_share >= threshold_of('memory_full_share'), false) AS is_evident,
    CASE WHEN e.step_count > 0 THEN 'step' ELSE 'span' END AS basis,
    'memory_headroom' AS evidence_view,
    'is_too_full' AS evidence,
    CASE WHEN f.peak_share IS NOT NULL THEN NULL
        WHEN f.peak_used_bytes IS NOT NULL THEN 'the size of device memory is not sampled'
        ELSE 'device memory is not sampled' END AS reason,
    CASE WHEN f.peak_share IS NULL THEN 'dcgm' END AS need
FROM run_evidence AS e
LEFT JOIN fullest AS f USING (run_id)
LEFT JOIN allocator AS a USING (run_id)
ORDER BY e.run_id
