-- What the mean step would take if one thing were different, by a stated model on the
-- measured timeline; steps that summaries leave out are left out.
-- Grain: one row per (run_id, scenario).
--
-- run_id        Run.
-- scenario      What is different.
-- step_count    Steps.
-- rank_count    Ranks present.
-- step_ns       Mean step as measured (the longest rank's).
-- what_if_ns    Mean step in the scenario; NULL when it cannot be told.
-- saved_ns      step - what_if.
-- saved_share   saved / step.
-- model         How it was computed.
-- reason        Why it cannot be told; else NULL.
WITH compared AS MATERIALIZED (FROM rank_step),
run_step AS (
    SELECT
        run_id,
        step,
        max(rank_count) AS rank_count,
        max(step_ns) AS step_ns,
        -- The rank that the others wait for sets the pace.
        max(excess_ns) FILTER (is_critical) AS excess_ns,
        max(communication_ns - exposed_wait_ns) FILTER (is_critical) AS transfer_ns,
        bool_or(is_critical IS NOT NULL) AS is_wait_known,
        max(greatest(own_ns, communication_ns - coalesce(exposed_wait_ns, 0)))
            AS hidden_ns
    FROM compared
    GROUP BY run_id, step
),
mean AS (
    SELECT
        run_id,
        count(*) AS step_count,
        max(rank_count) AS rank_count,
        avg(step_ns) AS step_ns,
        avg(greatest(step_ns - coalesce(excess_ns, 0), coalesce(transfer_ns, 0)))
            AS ordinary_ns,
        bool_or(is_wait_known) AS is_wait_known,
        avg(hidden_ns) AS hidden_ns
    FROM run_step
    GROUP BY run_id
),
-- Idle time of a cause delays the job where the critical rank has it.
cause AS MATERIALIZED (
    SELECT d.device_key, c.run_id, c.step, c.cause, sum(c.total_ns) AS total_ns
    FROM kernel_gap_cause AS c
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    WHERE c.step IS NOT NULL
    GROUP BY d.device_key, c.run_id, c.step, c.cause
),
-- What is saved is the difference between the slowest rank with and without the cause:
-- waiting, which both leave out, is none of the cause's doing.
without_cause AS (
    SELECT
        run_id, cause,
        avg(step_ns - greatest(0, slowest_ns - greatest(rest_ns, transfer_ns)))
            AS what_if_ns
    FROM (
        SELECT
            r.run_id, r.step, k.cause,
            max(r.step_ns) AS step_ns,
            max(r.step_ns - coalesce(r.exposed_wait_ns, 0)) AS slowest_ns,
            max(r.step_ns - coalesce(r.exposed_wait_ns, 0) - coalesce(c.total_ns, 0))
                AS rest_ns,
            max(r.communication_ns - coalesce(r.exposed_wait_ns, 0)) AS transfer_ns
        FROM compared AS r
        -- A rank without this cause may be the slowest when it is gone.
        JOIN (SELECT DISTINCT run_id, cause FROM cause) AS k USING (run_id)
        LEFT JOIN cause AS c
            ON c.device_key = r.device_key AND c.step = r.step AND c.cause = k.cause
        GROUP BY r.run_id, r.step, k.cause
    )
    GROUP BY run_id, cause
),
scenario AS (
    SELECT
        run_id, 'all communication hidden' AS scenario, hidden_ns AS what_if_ns,
        'per step the slowest rank''s time without exposed communication, not below its '
            || 'transfers' AS model,
        NULL AS reason
    FROM mean
    UNION ALL
    SELECT
        run_id, 'no rank waits for another',
        CASE WHEN is_wait_known THEN ordinary_ns END,
        'per step less what the rank that was waited for needed more than the median '
            || 'rank, not below its transfers; as measured where waits are unknown',
        CASE WHEN NOT is_wait_known THEN 'waiting could not be told from transfer' END
    FROM mean
    UNION ALL
    SELECT
        run_id, 'no idle time: ' || cause, what_if_ns,
        'per step less what the slowest rank, waiting left out, would gain without this '
            || 'cause, not below its transfers',
        NULL
    FROM without_cause
),
-- least() would take the measured step where the scenario is unknown.
bounded AS (
    SELECT
        s.run_id, s.scenario, m.step_count, m.rank_count, m.step_ns, s.model, s.reason,
        CASE WHEN s.what_if_ns IS NOT NULL THEN least(s.what_if_ns, m.step_ns) END
            AS what_if_ns
    FROM scenario AS s
    JOIN mean AS m USING (run_id)
)
SELECT
    run_id,
    scenario,
    step_count,
    rank_count,
    step_ns,
    what_if_ns,
    step_ns - what_if_ns AS saved_ns,
    share_of(step_ns - what_if_ns, step_ns) AS saved_share,
    model,
    reason
FROM bounded
ORDER BY run_id, saved_ns DESC, scenario
