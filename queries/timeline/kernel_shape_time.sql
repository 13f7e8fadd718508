-- Time of kernels by name, grid and block, and by the step that they start in; only of
-- runs in which kernels were also profiled with Nsight Compute.
-- Grain: one row per device_key, step, name_id, grid and block.
--
-- device_key    See traced_device.
-- step          Step that the kernels start in; NULL outside steps.
-- name_id       See kernel_name.
-- grid_x        Grid size, blocks.
-- grid_y        Grid size, blocks.
-- grid_z        Grid size, blocks.
-- block_x       Block size, threads.
-- block_y       Block size, threads.
-- block_z       Block size, threads.
-- kernel_count  Executions.
-- total_ns      Sum of durations.
WITH placed AS (
    SELECT
        d.device_key,
        k.start_ns,
        k.end_ns,
        k.name_id,
        k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z
    FROM kernel AS k
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    WHERE k.run_id IN (SELECT run_id FROM kernel_profile)
)
SELECT
    p.device_key,
    CASE WHEN p.start_ns < s.end_ns THEN s.step END AS step,
    p.name_id,
    p.grid_x, p.grid_y, p.grid_z, p.block_x, p.block_y, p.block_z,
    count(*) AS kernel_count,
    sum(p.end_ns - p.start_ns)::BIGINT AS total_ns
FROM placed AS p
ASOF LEFT JOIN device_step AS s
    ON s.device_key = p.device_key
    AND p.start_ns >= s.begin_ns
GROUP BY ALL
