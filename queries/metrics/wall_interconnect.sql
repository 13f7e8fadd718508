-- What a run loses to collectives that move their bytes slower than the links, this
-- cluster's benchmarks or their own usual time allow.
-- Grain: one row per run_id.
--
-- run_id       Run.
-- wall         interconnect.
-- subject      The operation that loses most; NULL without one.
-- cost_ns      Saved per step.
-- cost_share   cost / basis; NULL when unknown.
-- bound_share  Where the cost is unknown, at most this; NULL when nothing limits it.
-- is_evident   Whether it is a wall whatever it costs.
-- basis        What shares are of: step, or span where no steps are known.
-- evidence_view  View that shows it.
-- evidence     Condition on its rows; NULL for all of the run.
-- reason       Why the cost is unknown; else NULL.
-- need         What to collect to know it; see reference table collect.
WITH slow AS (
    SELECT
        run_id,
        sum(lost_transfer_ns) AS lost_ns,
        arg_max(operation, lost_transfer_ns) AS subject
    FROM collective_efficiency
    WHERE cause = 'transfer' AND lost_transfer_ns > 0
    GROUP BY run_id
),
judged AS (
    SELECT
        run_id,
        count(*) FILTER (cause IS NOT NULL) AS judged_count,
        count(*) AS collective_count
    FROM collective_efficiency
    GROUP BY run_id
),
stepped AS (
    SELECT run_id, sum(step_ns) AS total_ns, count(*) AS step_count
    FROM (
        SELECT run_id, step, max(step_ns) AS step_ns
        FROM step_time
        WHERE exclusion IS NULL
        GROUP BY run_id, step
    )
    GROUP BY run_id
),
hidden AS (
    SELECT run_id, saved_ns, saved_share
    FROM what_if
    WHERE scenario = 'communication takes no time'
)
SELECT
    e.run_id,
    'interconnect' AS wall,
    s.subject,
    -- What compute hides is not lost.
    CASE WHEN j.judged_count > 0 THEN
        least(coalesce(s.lost_ns, 0) / t.step_count, h.saved_ns) END AS cost_ns,
    CASE
        WHEN h.saved_share = 0 THEN 0
        WHEN j.judged_count > 0
            THEN least(share_of(coalesce(s.lost_ns, 0), t.total_ns), h.saved_share)
    END AS cost_share,
    coalesce(h.saved_share, x.exposed_share) AS bound_share,
    false AS is_evident,
    CASE WHEN e.step_count > 0 THEN 'step' ELSE 'span' END AS basis,
    'collective_efficiency' AS evidence_view,
    CASE WHEN s.subject IS NOT NULL THEN 'cause = ''transfer''' END AS evidence,
    CASE
        WHEN e.traced_count = 0 THEN e.trace_reason
        WHEN h.saved_share > 0 AND coalesce(j.judged_count, 0) = 0
            THEN 'nothing says how fast the collectives should be'
        WHEN h.saved_share IS NULL THEN 'no steps were found'
    END AS reason,
    CASE
        WHEN e.traced_count = 0 THEN 'nsys'
        WHEN h.saved_share > 0 AND coalesce(j.judged_count, 0) = 0 THEN 'nccl-tests'
        WHEN h.saved_share IS NULL THEN 'nsys with steps'
    END AS need
FROM run_evidence AS e
LEFT JOIN slow AS s USING (run_id)
LEFT JOIN judged AS j USING (run_id)
LEFT JOIN stepped AS t USING (run_id)
LEFT JOIN hidden AS h USING (run_id)
LEFT JOIN (
    SELECT run_id, max(exposed_communication_share) AS exposed_share
    FROM nccl_time_share
    GROUP BY run_id
) AS x USING (run_id)
ORDER BY e.run_id
