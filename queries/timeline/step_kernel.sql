-- Compute kernels of each step by what they are: the same name with another grid or block
-- is other work.
-- Grain: one row per (device_key, step, name_id, shape).
--
-- device_key    See traced_device.
-- step          Step in which they start; see device_step.
-- name_id       Kernel's name.
-- shape         Stands for name, grid and block.
-- kernel_count  Kernels.
-- total_ns      Sum of their durations.
WITH placed AS MATERIALIZED (
    SELECT device_key, step, begin_ns, end_ns FROM device_step WHERE end_ns > begin_ns
)
SELECT
    d.device_key,
    s.step,
    k.name_id,
    hash(k.name_id, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z)
        AS shape,
    count(*) AS kernel_count,
    sum(k.end_ns - k.start_ns)::BIGINT AS total_ns
FROM kernel AS k
JOIN traced_device AS d USING (run_id, source_id, process, device_id)
JOIN classified_kernel_name AS n USING (name_id)
ASOF JOIN placed AS s ON s.device_key = d.device_key AND k.start_ns >= s.begin_ns
WHERE n.class <> 'communication' AND k.start_ns < s.end_ns
GROUP BY d.device_key, s.step, k.name_id, shape
