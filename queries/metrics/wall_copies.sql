-- What a run loses to copies and sets between host and device with nothing beside them.
-- Grain: one row per run_id.
--
-- run_id       Run.
-- wall         memory copies.
-- subject      NULL: the whole job.
-- cost_ns      Saved per step without them.
-- cost_share   cost / basis; NULL when unknown.
-- bound_share  Where the cost is unknown, at most this; NULL when nothing limits it.
-- is_evident   Whether it is a wall whatever it costs.
-- basis        What shares are of: step, or span where no steps are known.
-- evidence_view  View that shows it.
-- evidence     Condition on its rows; NULL for all of the run.
-- reason       Why the cost is unknown; else NULL.
-- need         What to collect to know it; see reference table collect.
WITH of_span AS (
    SELECT run_id, max(share_of(exposed_memory_ns, span_ns)) AS exposed_share
    FROM nccl_time_share
    GROUP BY run_id
)
SELECT
    e.run_id,
    'memory copies' AS wall,
    NULL::VARCHAR AS subject,
    CASE WHEN e.step_count > 0 THEN coalesce(w.saved_ns, 0) END AS cost_ns,
    CASE
        WHEN e.step_count > 0 THEN coalesce(w.saved_share, 0)
        WHEN e.traced_count > 0 THEN coalesce(o.exposed_share, 0)
    END AS cost_share,
    NULL::DOUBLE AS bound_share,
    false AS is_evident,
    CASE WHEN e.step_count > 0 THEN 'step' ELSE 'span' END AS basis,
    'memory_copy_summary' AS evidence_view,
    NULL::VARCHAR AS evidence,
    e.trace_reason AS reason,
    CASE WHEN e.traced_count = 0 THEN 'nsys' END AS need
FROM run_evidence AS e
LEFT JOIN of_span AS o USING (run_id)
LEFT JOIN what_if AS w
    ON w.run_id = e.run_id AND w.scenario = 'no copies or sets alone'
ORDER BY e.run_id
