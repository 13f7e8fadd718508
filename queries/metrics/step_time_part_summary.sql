-- The mean step of a run by part and class, as one follows it from run to run.
-- Grain: one row per (run_id, part, class).
-- Better: lower.
-- Value: mean_ns.
-- Samples: device_step_count.
--
-- run_id    Run.
-- part      See step_time_part.
-- class     Class of kernels, or cause of idle time; NULL for other parts.
-- device_step_count  Steps of the run, counted on every device.
-- mean_ns   Time in a mean step.
-- step_share  mean / mean step.
SELECT
    run_id,
    part,
    class,
    any_value(device_step_count) AS device_step_count,
    sum(mean_ns) AS mean_ns,
    share_of(sum(total_ns), sum(sum(total_ns)) OVER (PARTITION BY run_id)) AS step_share
FROM step_time_part
GROUP BY run_id, part, class
ORDER BY run_id, mean_ns DESC, part, class
