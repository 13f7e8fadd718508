-- Collectives move their bytes slower than links, benchmarks or their usual time allow.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Look at the links between the hosts (error counters, PFC and ECN on RoCE, MTU),
--   then run nccl-tests on these hosts.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Operation.
-- detail         NULL.
-- value          Time lost in transfers / collectives' time.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH slow AS (
    SELECT
        run_id, operation,
        sum(lost_transfer_ns) FILTER (cause = 'transfer') AS lost_ns,
        sum(dur_ns) AS total_ns
    FROM collective_efficiency
    GROUP BY run_id, operation
)
SELECT
    s.run_id,
    CASE WHEN l.is_wall THEN 'wall' ELSE 'warning' END AS severity,
    'interconnect' AS wall,
    s.operation AS subject,
    NULL::VARCHAR AS detail,
    share_of(s.lost_ns, s.total_ns) AS value,
    threshold_of('slow_collective_share') AS threshold,
    'share' AS unit,
    l.cost_share,
    'collective_efficiency' AS evidence_view,
    'cause = ''transfer'' AND operation = ''' || s.operation || '''' AS evidence
FROM slow AS s
LEFT JOIN wall AS l ON l.run_id = s.run_id AND l.wall = 'interconnect'
WHERE share_of(s.lost_ns, s.total_ns) > threshold_of('slow_collective_share')
