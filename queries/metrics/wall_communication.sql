-- What communication costs a run beyond what compute hides and beyond waiting.
-- Grain: one row per run_id.
--
-- run_id       Run.
-- wall         communication.
-- subject      NULL: the whole job.
-- cost_ns      Saved per step if it took no time.
-- cost_share   cost / basis; NULL when unknown.
-- bound_share  Where the cost is unknown, at most this; NULL when nothing limits it.
-- is_evident   Whether it is a wall whatever it costs.
-- basis        What shares are of: step, or span where no steps are known.
-- evidence_view  View that shows it.
-- evidence     Condition on its rows; NULL for all of the run.
-- reason       Why the cost is unknown; else NULL.
-- need         What to collect to know it; see reference table collect.
WITH exposed AS (
    SELECT run_id, max(exposed_communication_share) AS exposed_share
    FROM nccl_time_share
    GROUP BY run_id
),
asked AS (
    SELECT
        e.run_id,
        e.traced_count,
        e.trace_reason,
        e.step_count,
        h.saved_ns,
        h.saved_share,
        x.exposed_share,
        w.reason AS wait_reason,
        -- Without communication nothing is unknown about it.
        coalesce(h.saved_share, x.exposed_share) = 0 AS is_none
    FROM run_evidence AS e
    LEFT JOIN exposed AS x USING (run_id)
    LEFT JOIN what_if AS h
        ON h.run_id = e.run_id AND h.scenario = 'communication takes no time'
    LEFT JOIN what_if AS w
        ON w.run_id = e.run_id AND w.scenario = 'no rank waits for another'
)
SELECT
    run_id,
    'communication' AS wall,
    NULL::VARCHAR AS subject,
    CASE WHEN is_none THEN 0 WHEN wait_reason IS NULL THEN saved_ns END AS cost_ns,
    CASE WHEN is_none THEN 0 WHEN wait_reason IS NULL THEN saved_share END AS cost_share,
    coalesce(saved_share, exposed_share) AS bound_share,
    false AS is_evident,
    CASE WHEN step_count > 0 THEN 'step' ELSE 'span' END AS basis,
    CASE WHEN step_count > 0 THEN 'what_if' ELSE 'nccl_time_share' END AS evidence_view,
    CASE WHEN step_count > 0 THEN 'scenario = ''communication takes no time''' END
        AS evidence,
    CASE
        WHEN is_none THEN NULL
        WHEN traced_count = 0 THEN trace_reason
        WHEN step_count = 0 THEN 'no steps were found'
        ELSE wait_reason
    END AS reason,
    CASE
        WHEN is_none THEN NULL
        WHEN traced_count = 0 THEN 'nsys'
        WHEN step_count = 0 THEN 'nsys with steps'
        WHEN wait_reason IS NOT NULL THEN 'nsys on every rank'
    END AS need
FROM asked
ORDER BY run_id
