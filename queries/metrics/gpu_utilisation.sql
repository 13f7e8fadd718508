-- How much of each GPU was used, by each counter that tells it: distribution over the
-- samples, and why some of them do not count. GPU-Util only says that some kernel was
-- there; SM, tensor and DRAM active say how much was done.
-- Grain: one row per (run_id, host, gpu_id, metric, source_id).
--
-- run_id        Run.
-- host          Host; NULL when nothing says it.
-- gpu_id        Physical GPU.
-- device_id     Index on the host.
-- metric        Counter; its name ends in its unit.
-- sample_count  Samples that count.
-- coverage_share  Rounds of the file in which the GPU has such a sample that counts / all
--               rounds in which it has any.
-- mean_value    Mean; NULL when no sample counts.
-- p05_value     5th percentile.
-- median_value  Median.
-- p95_value     95th percentile.
-- max_value     Largest.
-- left_out_count  Samples that cannot be right.
-- reason        Why samples do not count, or why the numbers are not to be trusted; else
--               NULL.
-- is_primary    Whether no other file tells of this GPU for longer.
-- source_id     Source file.
WITH stuck AS (
    SELECT telemetry_key, ts_ns, tick, true AS is_stuck
    FROM gpu_round
    WHERE is_stuck
),
sampled AS (
    SELECT
        g.telemetry_key,
        s.metric,
        s.value,
        CASE
            WHEN s.value < 0 OR (s.metric LIKE '%\_share' ESCAPE '\' AND s.value > 1)
                THEN 'out of range'
            WHEN k.is_stuck AND s.metric <> 'gpu_util_share'
                AND s.metric <> 'memory_util_share'
                AND s.metric NOT LIKE '%\_nvml\_%' ESCAPE '\' THEN 'stuck'
        END AS fault
    FROM gpu_sample AS s
    JOIN telemetry_gpu AS g
        ON g.run_id = s.run_id
        AND g.source_id = s.source_id
        AND g.gpu_id = s.gpu_id
        AND g.told_host IS NOT DISTINCT FROM s.host
    LEFT JOIN stuck AS k
        ON k.telemetry_key = g.telemetry_key
        AND k.ts_ns IS NOT DISTINCT FROM s.ts_ns
        AND k.tick IS NOT DISTINCT FROM s.tick
    WHERE s.entity = 'gpu'
        AND s.metric IN (
            'gpu_util_share', 'memory_util_share', 'gr_engine_active_share',
            'sm_active_share', 'sm_occupancy_share', 'tensor_active_share',
            'tensor_hmma_active_share', 'dram_active_share', 'dram_read_share',
            'dram_write_share', 'sm_issue_share', 'compute_warps_in_flight_share',
            'pcie_tx_bytes_per_s', 'pcie_rx_bytes_per_s', 'pcie_tx_nvml_bytes_per_s',
            'pcie_rx_nvml_bytes_per_s', 'nvlink_tx_bytes_per_s',
            'nvlink_rx_bytes_per_s', 'nvlink_nvml_bytes_per_s'
        )
),
summed AS (
    SELECT
        telemetry_key,
        metric,
        count(*) FILTER (fault IS NULL) AS sample_count,
        count(*) FILTER (fault = 'stuck') AS stuck_count,
        count(*) FILTER (fault = 'out of range') AS range_count,
        avg(value) FILTER (fault IS NULL) AS mean_value,
        quantile_cont(value, [0.05, 0.5, 0.95]) FILTER (fault IS NULL) AS quantiles,
        max(value) FILTER (fault IS NULL) AS max_value
    FROM sampled
    GROUP BY telemetry_key, metric
),
rounds AS (
    SELECT telemetry_key, count(*) AS round_count
    FROM gpu_round
    GROUP BY telemetry_key
)
SELECT
    g.run_id,
    g.host,
    g.gpu_id,
    g.device_id,
    s.metric,
    s.sample_count,
    -- A profiler's own samples are not among the rounds.
    CASE WHEN s.sample_count <= r.round_count
        THEN share_of(s.sample_count, r.round_count) END AS coverage_share,
    s.mean_value,
    s.quantiles[1] AS p05_value,
    s.quantiles[2] AS median_value,
    s.quantiles[3] AS p95_value,
    s.max_value,
    s.stuck_count + s.range_count AS left_out_count,
    nullif(concat_ws('; ',
        CASE WHEN s.stuck_count > 0 THEN 'counters stuck: profiling counters read 0 in '
            || s.stuck_count || ' samples with GPU-Util full' END,
        CASE WHEN s.range_count > 0
            THEN 'out of range: ' || s.range_count || ' samples' END,
        CASE WHEN s.sample_count + s.stuck_count + s.range_count
            < threshold_of('coverage_share') * r.round_count
            THEN 'not sampled for part of the time: another profiler may have held the '
                || 'counters, or scrapes failed' END
    ), '') AS reason,
    g.is_primary,
    g.source_id
FROM summed AS s
JOIN telemetry_gpu AS g USING (telemetry_key)
LEFT JOIN rounds AS r USING (telemetry_key)
ORDER BY g.run_id, g.host, g.gpu_id, g.source_id, s.metric
