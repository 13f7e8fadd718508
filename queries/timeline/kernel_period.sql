-- The period in which a device's kernels repeat, found without any annotation: the count
-- that most kernel names that return regularly have in common is the number of steps, and
-- the first of these names in time marks where each begins.
-- Grain: one row per device_key on which such a period was found.
--
-- device_key    See traced_device.
-- name_id       Kernel that marks the beginning of a step.
-- step_count    How often it ran.
-- period_ns     Median distance between two of them.
-- name_count    Kernel names that share this count and regularity.
-- confidence    Share of kernels whose name's count is a multiple of step_count.
WITH spaced AS (
    SELECT
        device_key, name_id, start_ns,
        start_ns - lag(start_ns) OVER (
            PARTITION BY device_key, name_id ORDER BY start_ns
        ) AS since_ns
    FROM activity
    WHERE kind = 'kernel'
),
repeated AS (
    SELECT
        device_key,
        name_id,
        count(*) AS kernel_count,
        min(start_ns) AS first_ns,
        max(start_ns) AS last_ns,
        median(since_ns) AS period_ns,
        quantile_cont(since_ns, 0.9) - quantile_cont(since_ns, 0.1) AS spread_ns
    FROM spaced
    GROUP BY device_key, name_id
),
-- Fewer than four have too few distances between them to be called regular; those that
-- all start at once have none.
regular AS (
    SELECT
        device_key, kernel_count,
        arg_min(name_id, (first_ns, name_id)) AS name_id,
        arg_min(period_ns, (first_ns, name_id)) AS period_ns,
        count(*) AS name_count
    FROM repeated
    WHERE kernel_count >= 4
        AND period_ns > 0
        AND spread_ns <= threshold_of('step_period_spread') * period_ns
    GROUP BY device_key, kernel_count
    HAVING count(*) >= 2
),
judged AS (
    SELECT
        device_key,
        g.name_id,
        g.kernel_count AS step_count,
        g.period_ns,
        g.name_count,
        sum(r.kernel_count) FILTER (r.kernel_count % g.kernel_count = 0)
            / sum(r.kernel_count) AS confidence,
        g.period_ns * (g.kernel_count - 1) / max(r.last_ns - r.first_ns) AS covered
    FROM regular AS g
    JOIN repeated AS r USING (device_key)
    GROUP BY device_key, g.name_id, g.kernel_count, g.period_ns, g.name_count
)
-- Kernels of a network's layers come in regular bursts and may be more names than those
-- of a step, but the bursts do not fill the capture: judged first, then chosen.
SELECT device_key, name_id, step_count, period_ns, name_count, confidence
FROM judged
WHERE confidence >= threshold_of('step_period_confidence')
    AND covered >= threshold_of('step_period_confidence')
QUALIFY row_number() OVER (
    PARTITION BY device_key ORDER BY name_count DESC, step_count
) = 1
