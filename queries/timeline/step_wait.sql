-- How much of each step a device spends waiting for other ranks inside collectives, and
-- how much of that no compute hides.
-- Grain: one row per (device_key, step) with a collective.
--
-- device_key       See traced_device.
-- step             See device_step.
-- collective_count  Communication kernels that start in the step.
-- split_count      Of these, how many could be split into wait and transfer.
-- wait_ns          Sum of their waits; NULL when none could be split.
-- exposed_wait_ns  Part of the union of waits with no compute beside it.
-- late_ns          Sum of how much later than the median rank it arrived; early is 0.
--                  NULL when none could be split.
WITH own_step AS MATERIALIZED (FROM device_step),
waited AS MATERIALIZED (
    SELECT
        c.device_key, s.step, c.wait_ns, c.late_ns,
        c.start_ns,
        -- least() leaves a NULL out: where the wait is unknown, so is its end.
        CASE WHEN c.wait_ns IS NOT NULL
            THEN least(c.start_ns + c.wait_ns, s.end_ns) END AS end_ns
    FROM collective_time AS c
    ASOF JOIN own_step AS s
        ON s.device_key = c.device_key AND c.start_ns >= s.begin_ns
    WHERE c.start_ns < s.end_ns
),
-- |compute and wait together| - |compute|: what waiting adds to the union.
piece AS (
    SELECT a.device_key, a.step, a.start_ns, a.end_ns, true AS is_compute
    FROM step_activity AS a
    SEMI JOIN waited AS w USING (device_key, step)
    WHERE a.is_compute
    UNION ALL
    SELECT device_key, step, start_ns, end_ns, false FROM waited WHERE end_ns > start_ns
),
covered AS (
    SELECT
        *,
        max(end_ns) OVER earlier AS by_any,
        max(CASE WHEN is_compute THEN end_ns END) OVER earlier AS by_compute
    FROM piece
    WINDOW earlier AS (
        PARTITION BY device_key, step ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
exposed AS (
    SELECT
        device_key,
        step,
        sum(uncovered_ns(start_ns, end_ns, by_any))
            - coalesce(sum(uncovered_ns(start_ns, end_ns, by_compute))
                FILTER (is_compute), 0) AS exposed_wait_ns
    FROM covered
    GROUP BY device_key, step
),
summed AS (
    SELECT
        device_key,
        step,
        count(*) AS collective_count,
        count(wait_ns) AS split_count,
        sum(wait_ns)::BIGINT AS wait_ns,
        (sum(greatest(late_ns, 0)) FILTER (late_ns IS NOT NULL))::BIGINT AS late_ns
    FROM waited
    GROUP BY device_key, step
)
SELECT
    s.device_key,
    s.step,
    s.collective_count,
    s.split_count,
    s.wait_ns,
    CASE WHEN s.split_count > 0 THEN coalesce(e.exposed_wait_ns, 0)::BIGINT END
        AS exposed_wait_ns,
    s.late_ns
FROM summed AS s
LEFT JOIN exposed AS e USING (device_key, step)
