-- What the mean step of a run is made of: every nanosecond of every step that summaries
-- keep, on every device, under one part. All parts of a run sum to its steps exactly.
-- Grain: one row per (run_id, part, class, name).
--
-- run_id        Run.
-- part          compute, exposed_wait and exposed_transfer (of communication with no
--               compute beside it), exposed_communication where the two cannot be told
--               apart, exposed_memory (copies and sets), idle.
-- class         Of compute the kernel's class, or graph; of idle the cause, see
--               kernel_gap_cause, lead_in before anything ran on the device, unattributed
--               what neither places; else NULL.
-- name          Kernel; NULL for anything else.
-- shape         Most frequent grid and block of the kernel, as gx.gy.gz/bx.by.bz.
-- launch_count  Executions of the kernel that start in these steps.
-- device_step_count  Steps of the run, counted on every device.
-- total_ns      Time; of kernels that run beside each other, what the earlier does not
--               cover.
-- mean_ns       total / device_step_count: the part's share of a mean step.
WITH own AS MATERIALIZED (
    SELECT
        d.device_key, d.run_id, t.step, t.lead_in_ns, t.idle_ns - t.lead_in_ns AS idle_ns,
        t.exposed_communication_ns, t.exposed_memory_ns, w.exposed_wait_ns
    FROM step_time AS t
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    LEFT JOIN step_wait AS w USING (device_key, step)
    WHERE t.exclusion IS NULL
),
counted AS (
    SELECT run_id, count(*) AS device_step_count FROM own GROUP BY run_id
),
covered AS (
    SELECT
        a.device_key, a.step, a.name_id, a.start_ns, a.end_ns, a.is_first,
        max(a.end_ns) OVER (
            PARTITION BY a.device_key, a.step ORDER BY a.start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until
    FROM step_activity AS a
    WHERE a.is_compute
),
computed AS (
    SELECT
        o.run_id,
        c.name_id,
        count(*) FILTER (c.is_first) AS launch_count,
        sum(uncovered_ns(c.start_ns, c.end_ns, c.covered_until)) AS total_ns
    FROM covered AS c
    JOIN own AS o USING (device_key, step)
    GROUP BY o.run_id, c.name_id
),
shaped AS (
    SELECT run_id, name_id, arg_max(shape, (launches, shape)) AS shape
    FROM (
        SELECT
            run_id, name_id, count(*) AS launches,
            concat_ws('.', grid_x, grid_y, grid_z) || '/'
                || concat_ws('.', block_x, block_y, block_z) AS shape
        FROM kernel
        GROUP BY ALL
    )
    GROUP BY run_id, name_id
),
-- Where processes share a GPU, its causes need not sum to the idle time of one of them:
-- then none is used.
caused AS (
    SELECT d.device_key, c.step, c.cause, sum(c.total_ns) AS total_ns
    FROM kernel_gap_cause AS c
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    WHERE c.step IS NOT NULL
    GROUP BY d.device_key, c.step, c.cause
),
placed AS (
    SELECT device_key, step, sum(total_ns) AS total_ns
    FROM caused
    GROUP BY device_key, step
),
idle AS (
    SELECT o.run_id, c.cause, c.total_ns
    FROM own AS o
    JOIN placed AS p USING (device_key, step)
    JOIN caused AS c USING (device_key, step)
    WHERE p.total_ns <= o.idle_ns
    UNION ALL
    SELECT
        o.run_id, 'unattributed',
        o.idle_ns - CASE WHEN p.total_ns <= o.idle_ns THEN p.total_ns ELSE 0 END
    FROM own AS o
    LEFT JOIN placed AS p USING (device_key, step)
    UNION ALL
    SELECT run_id, 'lead_in', lead_in_ns FROM own
),
part AS (
    SELECT
        c.run_id,
        'compute' AS part,
        CASE WHEN c.name_id IS NULL THEN 'graph' ELSE n.class END AS class,
        n.name,
        s.shape,
        c.launch_count,
        c.total_ns
    FROM computed AS c
    LEFT JOIN classified_kernel_name AS n USING (name_id)
    LEFT JOIN shaped AS s ON s.run_id = c.run_id AND s.name_id = c.name_id
    UNION ALL
    SELECT run_id, 'idle', cause, NULL, NULL, NULL, sum(total_ns)
    FROM idle
    GROUP BY run_id, cause
    UNION ALL
    SELECT run_id, 'exposed_memory', NULL, NULL, NULL, NULL, sum(exposed_memory_ns)
    FROM own
    GROUP BY run_id
    UNION ALL
    SELECT
        run_id, 'exposed_wait', NULL, NULL, NULL, NULL,
        sum(least(exposed_wait_ns, exposed_communication_ns))
    FROM own
    WHERE exposed_wait_ns IS NOT NULL
    GROUP BY run_id
    UNION ALL
    SELECT
        run_id, 'exposed_transfer', NULL, NULL, NULL, NULL,
        sum(exposed_communication_ns - least(exposed_wait_ns, exposed_communication_ns))
    FROM own
    WHERE exposed_wait_ns IS NOT NULL
    GROUP BY run_id
    UNION ALL
    SELECT
        run_id, 'exposed_communication', NULL, NULL, NULL, NULL,
        sum(exposed_communication_ns)
    FROM own
    WHERE exposed_wait_ns IS NULL
    GROUP BY run_id
)
SELECT
    p.run_id,
    p.part,
    p.class,
    p.name,
    p.shape,
    p.launch_count,
    n.device_step_count,
    p.total_ns::BIGINT AS total_ns,
    p.total_ns / n.device_step_count AS mean_ns
FROM part AS p
JOIN counted AS n USING (run_id)
WHERE p.total_ns > 0
ORDER BY p.run_id, total_ns DESC, p.part, p.class, p.name
