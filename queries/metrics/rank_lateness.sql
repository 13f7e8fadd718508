-- What each rank costs the job over all steps of rank_step, and how far it stands out.
-- Grain: one row per device_key of a run in which any kernel or graph ran.
--
-- device_key      See traced_device.
-- run_id          Run.
-- rank_count      Ranks compared; NULL where the device has no step to compare.
-- device_count    Devices of the run that ran any kernel or graph.
-- step_count      Steps.
-- critical_count  Steps in which the others waited for it.
-- known_count     Steps in which it is known whom the others waited for.
-- total_ns        Time of all steps.
-- lost_ns         Its excess over the ordinary rank where it was waited for.
-- alone_ns        Saved had it alone been ordinary.
-- held_ns         Its excess as far as others waited longer than it did.
-- joint_ns        Saved had every rank been ordinary.
-- mean_own_ns     Mean own time per step.
-- ordinary_own_ns  Lower median of this over ranks.
-- outlier_score   Distance from it in robust standard deviations (1.4826 MAD, at least
--                 threshold straggler_noise_share of it).
-- slowest_class   Kernel class with most time over the same kernels on the median rank.
-- untold          Why nothing can be said for want of steps; else NULL.
WITH compared AS MATERIALIZED (FROM rank_step),
working AS (
    SELECT DISTINCT run_id, device_key FROM activity WHERE is_compute OR is_communication
),
counted AS (
    SELECT
        w.run_id, w.device_key,
        count(*) OVER (PARTITION BY w.run_id) AS device_count,
        count(s.device_key) OVER (PARTITION BY w.run_id) AS stepped_count,
        s.device_key IS NOT NULL AS has_steps
    FROM working AS w
    LEFT JOIN (SELECT DISTINCT device_key FROM device_step) AS s USING (device_key)
),
own AS (
    SELECT
        device_key,
        run_id,
        max(rank_count) AS rank_count,
        count(*) AS step_count,
        count(*) FILTER (is_critical) AS critical_count,
        count(is_critical) AS known_count,
        coalesce(sum(excess_ns) FILTER (is_critical), 0)::BIGINT AS lost_ns,
        coalesce(sum(alone_ns), 0)::BIGINT AS alone_ns,
        coalesce(sum(held_ns), 0)::BIGINT AS held_ns,
        sum(step_ns)::BIGINT AS total_ns,
        avg(own_ns) AS mean_own_ns
    FROM compared
    GROUP BY device_key, run_id
),
middle AS (
    SELECT
        *,
        sum(lost_ns) OVER (PARTITION BY run_id)::BIGINT AS joint_ns,
        quantile_disc(mean_own_ns, 0.5) OVER (PARTITION BY run_id) AS ordinary_own_ns
    FROM own
),
slowest AS (
    SELECT device_key, arg_max(class, (total_ns, class)) AS class
    FROM (
        SELECT c.device_key, c.class, sum(c.slower_ns) AS total_ns
        FROM slower_class AS c
        SEMI JOIN compared AS r USING (device_key, step)
        GROUP BY c.device_key, c.class
    )
    WHERE total_ns > 0
    GROUP BY device_key
)
SELECT
    c.device_key,
    c.run_id,
    m.rank_count,
    c.device_count,
    m.step_count,
    m.critical_count,
    coalesce(m.known_count, 0) AS known_count,
    m.total_ns,
    m.lost_ns,
    m.alone_ns,
    m.held_ns,
    m.joint_ns,
    m.mean_own_ns,
    m.ordinary_own_ns,
    (m.mean_own_ns - m.ordinary_own_ns) / greatest(
        1.4826 * quantile_disc(abs(m.mean_own_ns - m.ordinary_own_ns), 0.5)
            OVER (PARTITION BY c.run_id),
        threshold_of('straggler_noise_share') * m.ordinary_own_ns
    ) AS outlier_score,
    s.class AS slowest_class,
    CASE
        WHEN c.stepped_count = 0 THEN 'no training steps were found'
        WHEN c.device_count < 2 THEN 'only one rank is present'
        WHEN NOT c.has_steps OR 2 * m.rank_count <= c.device_count
            THEN 'steps were found on ' || c.stepped_count || ' of ' || c.device_count
                || ' devices'
        WHEN m.device_key IS NULL
            THEN 'its steps are left out of summaries, or most other ranks lack them'
    END AS untold
FROM counted AS c
LEFT JOIN middle AS m USING (device_key, run_id)
LEFT JOIN slowest AS s USING (device_key)
ORDER BY c.device_key
