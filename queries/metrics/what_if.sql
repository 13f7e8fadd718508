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
        max(device_count) AS device_count,
        max(step_ns) AS step_ns,
        -- The rank that the others wait for sets the pace.
        max(excess_ns) FILTER (is_critical) AS excess_ns,
        max(transfer_ns) FILTER (is_critical) AS transfer_ns,
        max(exposed_transfer_ns) FILTER (is_critical) AS exposed_transfer_ns,
        bool_or(is_critical IS NOT NULL) AS is_wait_known,
        max(communication_ns) > 0 AS is_communicating,
        max(unsplit_count) > 0 AS is_unsplit,
        max(greatest(own_ns, transfer_ns)) AS hidden_ns,
        max(own_ns) AS own_ns
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
        avg(hidden_ns) AS hidden_ns,
        avg(own_ns) AS own_ns,
        CASE
            WHEN bool_or(is_wait_known) THEN NULL
            WHEN NOT bool_or(is_communicating) THEN 'no collectives are recorded'
            WHEN 2 * max(rank_count) <= max(device_count) THEN
                'steps were found on ' || max(rank_count) || ' of ' || max(device_count)
                || ' devices'
            ELSE 'waiting could not be told from transfer'
        END AS untold,
        bool_or(is_communicating) AS is_communicating,
        CASE WHEN bool_or(is_unsplit)
            THEN '; unknown waiting counts as transfer' ELSE '' END AS caveat
    FROM run_step
    GROUP BY run_id
),
-- Idle time that one wall explains, 0 on a rank without it.
idle_of_wall AS (
    SELECT
        r.device_key, r.run_id, r.step, w.wall,
        coalesce(sum(c.total_ns), 0)::DOUBLE AS total_ns
    FROM compared AS r
    CROSS JOIN (SELECT DISTINCT wall FROM cause_wall) AS w
    JOIN traced_device AS d USING (device_key)
    LEFT JOIN (
        SELECT *
        FROM kernel_gap_cause
        JOIN cause_wall USING (cause)
    ) AS c
        ON c.run_id = d.run_id
        AND c.source_id = d.source_id
        AND c.process = d.process
        AND c.device_id = d.device_id
        AND c.step = r.step
        AND c.wall = w.wall
    GROUP BY r.device_key, r.run_id, r.step, w.wall
),
-- Time that a rank would not have needed, by scenario.
gain AS MATERIALIZED (
    SELECT
        d.device_key, c.run_id, c.step, 'no idle time: ' || c.cause AS scenario,
        sum(c.total_ns)::DOUBLE AS total_ns
    FROM kernel_gap_cause AS c
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    WHERE c.step IS NOT NULL
    GROUP BY d.device_key, c.run_id, c.step, c.cause
    UNION ALL
    -- What only a late rank has belongs to the wall of waiting for it.
    SELECT
        device_key, run_id, step, 'no idle time of wall: ' || wall,
        least(
            total_ns,
            quantile_disc(total_ns, 0.5) OVER (PARTITION BY run_id, step, wall)
        )
    FROM idle_of_wall
    UNION ALL
    SELECT device_key, run_id, step, 'no copies or sets alone', exposed_memory_ns
    FROM compared
    UNION ALL
    SELECT
        device_key, run_id, step, class || ' kernels as fast as on the median rank',
        slower_ns
    FROM slower_class
),
-- What a rank needs when nobody waits. Where compute covered its waiting, that compute
-- will cover the transfer instead, as it does on the rank that is waited for.
paced AS (
    SELECT
        r.device_key, r.run_id, r.step, r.step_ns, r.transfer_ns,
        r.own_ns + least(r.exposed_transfer_ns, greatest(
            r.exposed_transfer_ns - coalesce(r.hidden_wait_ns, 0),
            coalesce(s.exposed_transfer_ns, r.exposed_transfer_ns)
        )) AS pace_ns
    FROM compared AS r
    JOIN run_step AS s USING (run_id, step)
),
-- What is saved is the difference between the slowest rank with and without the gain:
-- waiting, which both leave out, is none of its doing. A rank without it may be the
-- slowest when it is gone.
without_gain AS (
    SELECT
        run_id, scenario,
        avg(step_ns - greatest(0, slowest_ns - greatest(rest_ns, transfer_ns)))
            AS what_if_ns
    FROM (
        SELECT
            r.run_id, r.step, k.scenario,
            max(r.step_ns) AS step_ns,
            max(r.pace_ns) AS slowest_ns,
            max(r.pace_ns - coalesce(g.total_ns, 0)) AS rest_ns,
            max(r.transfer_ns) AS transfer_ns
        FROM paced AS r
        JOIN (SELECT DISTINCT run_id, scenario FROM gain) AS k USING (run_id)
        LEFT JOIN gain AS g
            ON g.device_key = r.device_key
            AND g.step = r.step
            AND g.scenario = k.scenario
        GROUP BY r.run_id, r.step, k.scenario
    )
    GROUP BY run_id, scenario
),
-- Where clocks disagree the causes of that rank's idle time are unknown: others' as well
-- as its own may be what delays the job.
misaligned AS (
    SELECT
        d.run_id,
        string_agg(
            'clocks of CPU and GPU disagree by ' || k.disagreement_ns || ' ns'
            || coalesce(' on rank ' || d.rank, ''), '; ' ORDER BY d.rank, d.device_key
        ) AS reason
    FROM clock_check AS k
    JOIN traced_device AS d USING (device_key)
    WHERE NOT k.is_aligned AND k.device_key IN (SELECT device_key FROM compared)
    GROUP BY d.run_id
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
        run_id, 'communication takes no time', own_ns,
        'per step the slowest rank''s time without exposed communication',
        NULL
    FROM mean
    UNION ALL
    SELECT
        run_id, 'no rank waits for another', ordinary_ns,
        'per step less what the rank that was waited for needed more than the median '
            || 'rank, not below its transfers; as measured where waits are unknown',
        untold
    FROM mean
    UNION ALL
    SELECT
        w.run_id, w.scenario, w.what_if_ns,
        'per step less what the slowest rank would gain without this cause, waiting left '
            || 'out and transfers covered as on the rank that is waited for, not below '
            || 'its transfers'
            || CASE WHEN w.scenario LIKE 'no idle time of wall: %'
                THEN '; of each rank no more than the median rank has of it' ELSE '' END,
        CASE WHEN w.scenario NOT IN (
            'no idle time: short_gap', 'no idle time: unknown', 'no copies or sets alone'
        ) THEN m.reason END
    FROM without_gain AS w
    LEFT JOIN misaligned AS m USING (run_id)
    WHERE w.scenario LIKE 'no %'
    UNION ALL
    SELECT DISTINCT
        w.run_id,
        -- Of one rank nothing can be said of any class.
        CASE WHEN m.rank_count < 2 THEN 'kernels as fast as on the median rank'
            ELSE w.scenario END,
        CASE WHEN m.rank_count >= 2 THEN w.what_if_ns END,
        'per step each kernel''s duration is the lower median of the ranks'' means for '
            || 'its name, grid and block; then as for idle time; kernels side by side '
            || 'gain together',
        CASE WHEN m.rank_count < 2 THEN 'only one rank has steps'
            WHEN m.is_communicating THEN m.untold END
    FROM without_gain AS w
    JOIN mean AS m USING (run_id)
    WHERE w.scenario NOT LIKE 'no %'
),
-- least() would take the measured step where the scenario is unknown.
bounded AS (
    SELECT
        s.run_id, s.scenario, m.step_count, m.rank_count, m.step_ns,
        s.model || m.caveat AS model, s.reason,
        CASE WHEN s.what_if_ns IS NOT NULL AND s.reason IS NULL
            THEN least(s.what_if_ns, m.step_ns) END AS what_if_ns
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
