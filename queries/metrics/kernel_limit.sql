-- Kernels of the job by time, each with what limits it, as its profile under Nsight
-- Compute says. Only of runs in which kernels were profiled.
-- Grain: one row per (run_id, host, rank, device_id, process, name, grid_x, grid_y,
-- grid_z, block_x, block_y, block_z, source_id).
--
-- run_id        Run.
-- host          Host; NULL when the trace does not say.
-- rank          Global rank; NULL when the trace does not say.
-- device_id     CUDA ordinal inside the process.
-- process       Process id.
-- name          Demangled name.
-- grid_x        Grid size, blocks.
-- grid_y        Grid size, blocks.
-- grid_z        Grid size, blocks.
-- block_x       Block size, threads.
-- block_y       Block size, threads.
-- block_z       Block size, threads.
-- class         compute bound, memory bound, latency bound, balanced; communication for
--               kernels that wait for peers; not classified: its profiles lack the
--               throughputs or disagree; not profiled.
-- match         How its profile was found: exact (name, grid and block), base name, name
--               only (another grid or block); NULL when not profiled.
-- kernel_count  Executions.
-- total_ns      Sum of durations in the job, of nsys.
-- kernel_time_share  total / sum of all kernels' durations on the device.
-- is_high       Whether a unit is used highly: little left to gain by itself.
-- is_small_grid  Whether its grid is smaller than one wave.
-- profile_count  Matching profiles.
-- class_share   Share of these with this class.
-- source_id     Source file.
WITH timed AS (
    SELECT
        device_key, name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,
        sum(kernel_count)::BIGINT AS kernel_count,
        sum(total_ns)::BIGINT AS total_ns
    FROM kernel_shape_time
    GROUP BY ALL
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    n.name,
    t.grid_x,
    t.grid_y,
    t.grid_z,
    t.block_x,
    t.block_y,
    t.block_z,
    CASE WHEN n.class = 'communication' THEN 'communication'
        WHEN m.match IS NULL THEN 'not profiled'
        ELSE coalesce(m.class, 'not classified') END AS class,
    m.match,
    t.kernel_count,
    t.total_ns,
    share_of(t.total_ns, sum(t.total_ns) OVER (PARTITION BY t.device_key))
        AS kernel_time_share,
    m.is_high,
    m.is_small_grid,
    m.profile_count,
    m.class_share,
    d.source_id
FROM timed AS t
JOIN traced_device AS d USING (device_key)
JOIN classified_kernel_name AS n USING (name_id)
LEFT JOIN kernel_profile_match AS m
    ON m.run_id = d.run_id
    AND m.name_id = t.name_id
    AND m.gpu_name IS NOT DISTINCT FROM d.gpu_name
    AND m.grid_x IS NOT DISTINCT FROM t.grid_x
    AND m.grid_y IS NOT DISTINCT FROM t.grid_y
    AND m.grid_z IS NOT DISTINCT FROM t.grid_z
    AND m.block_x IS NOT DISTINCT FROM t.block_x
    AND m.block_y IS NOT DISTINCT FROM t.block_y
    AND m.block_z IS NOT DISTINCT FROM t.block_z
ORDER BY
    d.run_id, d.host, d.rank, d.device_id, d.process, t.total_ns DESC, n.name,
    t.grid_x, t.grid_y, t.grid_z, t.block_x, t.block_y, t.block_z, d.source_id
