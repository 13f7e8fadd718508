-- How long each device takes for the same kernels as its peers: GPUs of the same product
-- that ran kernels of the same name, grid and block; communication is left out, because
-- it waits for others. A GPU that is slow at equal clocks, without any reason given, is
-- found here.
-- Grain: one row per (run_id, host, rank, device_id, process, source_id).
-- Better: lower.
-- Value: pace_ratio, throttled_share.
--
-- run_id       Run.
-- host         Host; NULL when the capture does not say.
-- rank         Global rank; NULL when unknown.
-- device_id    CUDA ordinal inside the process.
-- process      Process id.
-- gpu_id       Physical GPU.
-- kernel_shape_count  Kernels (name, grid, block) that enough devices ran.
-- compared_ns  Time of these kernels on this device.
-- pace_ratio   That time / what the peers' median durations would have made of it.
-- is_slow      Whether the ratio is beyond slow_kernel_ratio.
-- slowest_kernel  Kernel that lost most time; NULL where none did.
-- throttled_share  Part of the samples with the clock held down; NULL without telemetry.
-- median_clock_hz  Median SM clock with work; NULL without telemetry.
-- peer_clock_hz  Median of GPUs of the same product.
-- explanation  Of a slow device: throttled, lower clock, same clock without a reason, or
--              clock not sampled; else NULL.
-- source_id    Source file.
WITH timed AS (
    SELECT
        d.device_key, d.run_id, d.gpu_name, k.name_id,
        hash(k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z) AS shape,
        count(*) AS kernel_count,
        sum(k.end_ns - k.start_ns) AS total_ns,
        median(k.end_ns - k.start_ns) AS median_ns
    FROM kernel AS k
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    JOIN classified_kernel_name AS n USING (name_id)
    WHERE n.class <> 'communication'
    GROUP BY d.device_key, d.run_id, d.gpu_name, k.name_id, shape
),
peer AS (
    SELECT
        run_id, gpu_name, name_id, shape, median(median_ns) AS peer_ns,
        count(*) AS device_count
    FROM timed
    GROUP BY run_id, gpu_name, name_id, shape
),
compared AS (
    SELECT
        t.device_key, t.name_id, t.total_ns,
        t.kernel_count * t.median_ns AS own_ns,
        t.kernel_count * p.peer_ns AS peer_ns
    FROM timed AS t
    JOIN peer AS p
        ON p.run_id = t.run_id
        AND p.gpu_name IS NOT DISTINCT FROM t.gpu_name
        AND p.name_id = t.name_id
        AND p.shape = t.shape
    WHERE p.device_count >= threshold_of('peer_gpu_count') AND p.peer_ns > 0
),
paced AS (
    SELECT
        device_key,
        count(*) AS kernel_shape_count,
        sum(total_ns)::BIGINT AS compared_ns,
        sum(own_ns) / sum(peer_ns) AS pace_ratio,
        arg_max(name_id, own_ns - peer_ns) AS slowest_id,
        max(own_ns - peer_ns) AS slowest_ns
    FROM compared
    GROUP BY device_key
),
sampled AS (
    SELECT
        t.device_key, s.throttled_share, s.median_clock_hz, s.peer_clock_hz
    FROM telemetry_device AS t
    JOIN telemetry_gpu AS g USING (telemetry_key)
    JOIN clock_summary AS s
        ON s.run_id = g.run_id
        AND s.source_id = g.source_id
        AND s.gpu_id = g.gpu_id
        AND s.host IS NOT DISTINCT FROM g.host
    WHERE g.is_primary
    QUALIFY row_number() OVER (
        PARTITION BY t.device_key ORDER BY g.telemetry_key
    ) = 1
),
judged AS (
    SELECT
        p.*, s.throttled_share, s.median_clock_hz, s.peer_clock_hz,
        p.pace_ratio > threshold_of('slow_kernel_ratio') AS is_slow,
        s.median_clock_hz < (1 - threshold_of('lower_clock_share')) * s.peer_clock_hz
            AS is_lower
    FROM paced AS p
    LEFT JOIN sampled AS s USING (device_key)
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    d.gpu_id,
    j.kernel_shape_count,
    j.compared_ns,
    j.pace_ratio,
    j.is_slow,
    CASE WHEN j.slowest_ns > 0 THEN n.short_name END AS slowest_kernel,
    j.throttled_share,
    j.median_clock_hz,
    j.peer_clock_hz,
    CASE
        WHEN NOT j.is_slow THEN NULL
        WHEN j.throttled_share > 0 THEN 'throttled'
        WHEN j.is_lower THEN 'lower clock'
        WHEN j.median_clock_hz IS NULL OR j.peer_clock_hz IS NULL
            THEN 'clock not sampled'
        ELSE 'same clock without a reason'
    END AS explanation,
    d.source_id
FROM judged AS j
JOIN traced_device AS d USING (device_key)
LEFT JOIN classified_kernel_name AS n ON n.name_id = j.slowest_id
ORDER BY d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id
