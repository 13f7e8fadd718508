-- Compute kernels of each step by what they are: the same name with another grid or block
-- is other work.
-- Grain: one row per (device_key, step, name_id, shape).
--
-- device_key    See traced_device.
-- step          Step that launched them; see step_bound.
-- name_id       Kernel's name.
-- shape         Stands for name, grid and block.
-- kernel_count  Kernels.
-- total_ns      Sum of their durations.
WITH bound AS MATERIALIZED (FROM step_bound),
executed AS (
    SELECT
        d.device_key, k.correlation_id, k.name_id, k.start_ns, k.end_ns,
        hash(k.name_id, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z)
            AS shape
    FROM kernel AS k
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    JOIN classified_kernel_name AS n USING (name_id)
    WHERE n.class <> 'communication'
),
-- A file may hold a call twice.
launch AS (
    SELECT d.device_key, c.correlation_id, min(c.start_ns) AS start_ns
    FROM api_call AS c
    JOIN traced_device AS d USING (run_id, source_id, process)
    SEMI JOIN executed AS k
        ON k.device_key = d.device_key AND k.correlation_id = c.correlation_id
    GROUP BY d.device_key, c.correlation_id
),
timed AS (
    SELECT
        k.device_key, k.name_id, k.end_ns - k.start_ns AS dur_ns, k.shape,
        c.start_ns IS NOT NULL AND h.device_key IS NOT NULL AS is_host,
        CASE WHEN h.device_key IS NOT NULL THEN coalesce(c.start_ns, k.start_ns)
            ELSE k.start_ns END AS moment_ns
    FROM executed AS k
    SEMI JOIN bound AS b ON b.device_key = k.device_key
    LEFT JOIN launch AS c
        ON c.device_key = k.device_key AND c.correlation_id = k.correlation_id
    LEFT JOIN (SELECT DISTINCT device_key FROM bound WHERE is_host) AS h
        ON h.device_key = k.device_key
)
SELECT
    t.device_key,
    b.step,
    t.name_id,
    t.shape,
    count(*) AS kernel_count,
    sum(t.dur_ns)::BIGINT AS total_ns
FROM timed AS t
ASOF JOIN bound AS b
    ON b.device_key = t.device_key
    AND b.is_host = t.is_host
    AND t.moment_ns >= b.from_ns
WHERE t.moment_ns < b.until_ns
GROUP BY t.device_key, b.step, t.name_id, t.shape
