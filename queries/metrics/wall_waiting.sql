-- What a run loses to a rank that the others wait for.
-- Grain: one row per run_id.
--
-- run_id       Run.
-- wall         waiting.
-- subject      The rank waited for most; NULL without one.
-- cost_ns      Saved per step if no rank were waited for.
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
late AS (
    SELECT
        run_id,
        arg_max(
            concat_ws(
                ' on ',
                coalesce(
                    'rank ' || rank,
                    'device ' || device_id || ' of process ' || process
                ),
                host
            ),
            lost_ns
        ) AS subject
    FROM straggler
    WHERE verdict = 'straggler'
    GROUP BY run_id
),
asked AS (
    SELECT
        e.run_id,
        e.traced_count,
        e.trace_reason,
        e.step_count,
        w.saved_ns,
        w.saved_share,
        w.reason AS wait_reason,
        coalesce(h.saved_share, x.exposed_share) AS bound_share,
        coalesce(h.saved_share, x.exposed_share) = 0 AND w.saved_share IS NULL AS is_none
    FROM run_evidence AS e
    LEFT JOIN exposed AS x USING (run_id)
    LEFT JOIN what_if AS h
        ON h.run_id = e.run_id AND h.scenario = 'communication takes no time'
    LEFT JOIN what_if AS w
        ON w.run_id = e.run_id AND w.scenario = 'no rank waits for another'
)
SELECT
    a.run_id,
    'waiting' AS wall,
    l.subject,
    CASE WHEN a.is_none THEN 0 ELSE a.saved_ns END AS cost_ns,
    CASE WHEN a.is_none THEN 0 ELSE a.saved_share END AS cost_share,
    a.bound_share,
    false AS is_evident,
    CASE WHEN a.step_count > 0 THEN 'step' ELSE 'span' END AS basis,
    CASE WHEN a.step_count > 0 THEN 'straggler' ELSE 'nccl_time_share' END
        AS evidence_view,
    CASE WHEN l.subject IS NOT NULL THEN 'verdict = ''straggler''' END AS evidence,
    CASE
        WHEN a.is_none THEN NULL
        WHEN a.traced_count = 0 THEN a.trace_reason
        WHEN a.step_count = 0 THEN 'no steps were found'
        ELSE a.wait_reason
    END AS reason,
    CASE
        WHEN a.is_none THEN NULL
        WHEN a.traced_count = 0 THEN 'nsys'
        WHEN a.step_count = 0 THEN 'nsys with steps'
        WHEN a.wait_reason IS NOT NULL THEN 'nsys on every rank'
    END AS need
FROM asked AS a
LEFT JOIN late AS l USING (run_id)
ORDER BY a.run_id
