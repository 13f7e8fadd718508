-- The kernels that take most of a mean step, as one follows them from run to run: the
-- first threshold step_kernel_count of each run.
-- Grain: one row per (run_id, class, name).
-- Better: lower.
-- Value: mean_ns.
-- Samples: device_step_count.
--
-- run_id    Run.
-- class     Class of the kernel.
-- name      Kernel.
-- place     1 for the kernel with most time.
-- device_step_count  Steps of the run, counted on every device.
-- launches_per_step  Executions in a mean step.
-- mean_ns   Time in a mean step that no earlier kernel covers.
SELECT
    run_id,
    class,
    name,
    row_number() OVER (PARTITION BY run_id ORDER BY total_ns DESC, class, name) AS place,
    device_step_count,
    launch_count / device_step_count AS launches_per_step,
    mean_ns
FROM step_time_part
WHERE part = 'compute' AND name IS NOT NULL
QUALIFY place <= threshold_of('step_kernel_count')
ORDER BY run_id, place
