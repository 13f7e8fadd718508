-- What a run loses to GPUs that stand idle, by the wall that their causes belong to: the
-- host launches late, or input and storage are waited for.
-- Grain: one row per (run_id, wall).
--
-- run_id       Run.
-- wall         launch or input; see reference table cause_wall.
-- subject      NULL: the whole job.
-- cost_ns      Saved per step without it.
-- cost_share   cost / basis; NULL when unknown.
-- bound_share  Where the cost is unknown, at most this; NULL when nothing limits it.
-- is_evident   Whether it is a wall whatever it costs.
-- basis        What shares are of: step, or span where no steps are known.
-- evidence_view  View that shows it.
-- evidence     Condition on its rows; NULL for all of the run.
-- reason       Why the cost is unknown; else NULL.
-- need         What to collect to know it; see reference table collect.
WITH of_span AS (
    SELECT run_id, wall, max(idle_ns / span_ns) AS idle_share
    FROM (
        SELECT
            c.run_id, w.wall, c.source_id, c.process, c.device_id, t.span_ns,
            sum(c.total_ns) AS idle_ns
        FROM kernel_gap_cause AS c
        JOIN cause_wall AS w USING (cause)
        JOIN nccl_time_share AS t USING (run_id, source_id, process, device_id)
        WHERE t.span_ns > 0
        GROUP BY ALL
    )
    GROUP BY run_id, wall
),
unknown AS (
    SELECT run_id, max(share_of(c.total_ns, t.span_ns)) AS unknown_share
    FROM kernel_gap_cause AS c
    JOIN nccl_time_share AS t USING (run_id, source_id, process, device_id)
    WHERE c.cause = 'unknown'
    GROUP BY run_id
)
SELECT
    e.run_id,
    w.wall,
    NULL::VARCHAR AS subject,
    CASE WHEN e.step_count > 0 AND s.reason IS NULL THEN coalesce(s.saved_ns, 0) END
        AS cost_ns,
    CASE
        WHEN e.traced_count = 0 OR s.reason IS NOT NULL THEN NULL
        WHEN e.step_count > 0 THEN coalesce(s.saved_share, 0)
        ELSE coalesce(o.idle_share, 0)
    END AS cost_share,
    u.unknown_share AS bound_share,
    false AS is_evident,
    CASE WHEN e.step_count > 0 THEN 'step' ELSE 'span' END AS basis,
    'kernel_gap_cause' AS evidence_view,
    'cause IN (SELECT cause FROM cause_wall WHERE wall = ''' || w.wall || ''')'
        AS evidence,
    CASE WHEN e.traced_count = 0 THEN e.trace_reason ELSE s.reason END
        AS reason,
    CASE WHEN e.traced_count = 0 OR s.reason IS NOT NULL THEN 'nsys' END AS need
FROM run_evidence AS e
CROSS JOIN (SELECT DISTINCT wall FROM cause_wall) AS w
LEFT JOIN what_if AS s
    ON s.run_id = e.run_id AND s.scenario = 'no idle time of wall: ' || w.wall
LEFT JOIN of_span AS o ON o.run_id = e.run_id AND o.wall = w.wall
LEFT JOIN unknown AS u ON u.run_id = e.run_id
ORDER BY e.run_id, w.wall
