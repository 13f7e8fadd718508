-- How much longer a rank's compute kernels of a class took than the same kernels (name,
-- grid, block; as many of them in the step) on the median rank.
-- Grain: one row per (device_key, step, class).
--
-- device_key  See traced_device.
-- run_id      Run.
-- step        See device_step.
-- class       Kernel class; see classified_kernel_name.
-- slower_ns   Sum over its kernels of duration - lower median over ranks; 0 if faster.
--             Of kernels that run side by side, the part that makes compute longer.
WITH timed AS MATERIALIZED (
    SELECT
        k.device_key, d.run_id, k.step, n.class, k.shape, k.kernel_count, k.total_ns,
        k.total_ns / k.kernel_count AS mean_ns
    FROM step_kernel AS k
    JOIN traced_device AS d USING (device_key)
    JOIN classified_kernel_name AS n USING (name_id)
),
middle AS (
    SELECT
        run_id, step, shape,
        quantile_disc(mean_ns, 0.5) AS ordinary_ns,
        quantile_disc(kernel_count, 0.5) AS ordinary_count
    FROM timed
    GROUP BY run_id, step, shape
),
summed AS (
    SELECT
        t.device_key, t.run_id, t.step, t.class,
        sum(t.kernel_count * (t.mean_ns - m.ordinary_ns)) FILTER (
            t.kernel_count = m.ordinary_count
        ) AS slower_ns
    FROM timed AS t
    JOIN middle AS m USING (run_id, step, shape)
    GROUP BY t.device_key, t.run_id, t.step, t.class
),
whole AS (
    SELECT device_key, step, sum(total_ns) AS kernel_ns FROM timed GROUP BY ALL
)
SELECT
    s.device_key,
    s.run_id,
    s.step,
    s.class,
    greatest(0, coalesce(s.slower_ns, 0))
        * least(1, coalesce(c.compute_ns / nullif(w.kernel_ns, 0), 1)) AS slower_ns
FROM summed AS s
JOIN whole AS w USING (device_key, step)
LEFT JOIN step_work AS c USING (device_key, step)
