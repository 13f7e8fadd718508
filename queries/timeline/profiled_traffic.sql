-- Traffic of a profiled kernel at each memory level, and its peak at the clocks of the
-- profile. L2 and L1 follow ncu's hierarchical roofline charts: 32 bytes a cycle of an L2
-- slice towards the SMs, 128 bytes a cycle of an L1's write-back.
-- Grain: one row per (run_id, source_id, kernel_id, level).
--
-- run_id            Run.
-- source_id         Source file.
-- kernel_id         Kernel within it.
-- level             DRAM, L2 or L1.
-- bytes_per_s       Bytes per second.
-- peak_bytes_per_s  Peak; NULL when nothing tells it.
-- peak_bytes_source  profile (ncu's peak per cycle x clock), device attributes (2 x
--                   memory clock x bus width), data sheet; NULL when there is no peak.
WITH metric_of AS (
    SELECT
        m.run_id,
        m.source_id,
        m.kernel_id,
        m.metric,
        -- "mem_lg" is local and global memory up to compute capability 8.9, "mem_lgds"
        -- from 9.0.
        unnest([
            {'preference': 1, 'level': 'DRAM', 'unit': 'dram', 'name': 'dram__bytes',
                'size': 1},
            {'preference': 1, 'level': 'L2', 'unit': 'lts',
                'name': 'derived__lts__lts2xbar_bytes', 'size': 1},
            {'preference': 2, 'level': 'L2', 'unit': 'lts',
                'name': 'lts__lts2xbar_cycles_active', 'size': 32},
            {'preference': 3, 'level': 'L2', 'unit': 'lts', 'name': 'lts__t_bytes',
                'size': 1},
            {'preference': 1, 'level': 'L1', 'unit': 'l1tex',
                'name': 'derived__l1tex__lsu_writeback_bytes_mem_lgds', 'size': 1},
            {'preference': 2, 'level': 'L1', 'unit': 'l1tex',
                'name': 'derived__l1tex__lsu_writeback_bytes_mem_lg', 'size': 1},
            {'preference': 3, 'level': 'L1', 'unit': 'l1tex',
                'name': 'l1tex__lsu_writeback_active_mem_lgds', 'size': 128},
            {'preference': 4, 'level': 'L1', 'unit': 'l1tex',
                'name': 'l1tex__lsu_writeback_active_mem_lg', 'size': 128},
            {'preference': 5, 'level': 'L1', 'unit': 'l1tex',
                'name': 'l1tex__lsu_writeback_active', 'size': 128},
            {'preference': 6, 'level': 'L1', 'unit': 'l1tex', 'name': 'l1tex__t_bytes',
                'size': 1}
        ], recursive := true)
    FROM profiled_metric AS m
),
measured AS (
    SELECT
        run_id,
        source_id,
        kernel_id,
        metric,
        level,
        preference,
        size * coalesce(
            metric[name || '.sum.per_second'],
            1e9 * metric[name || '.sum'] / nullif(metric['gpu__time_duration.sum'], 0),
            CASE WHEN level = 'DRAM' THEN
                coalesce(
                    metric['dram__bytes_read.sum.per_second']
                    + metric['dram__bytes_write.sum.per_second'],
                    1e9
                    * (metric['dram__bytes_read.sum'] + metric['dram__bytes_write.sum'])
                    / nullif(metric['gpu__time_duration.sum'], 0)
                ) END
        ) AS bytes_per_s,
        size
        * metric[name || '.sum.peak_sustained']
        * metric[unit || '__cycles_elapsed.avg.per_second'] AS profile_peak
    FROM metric_of
),
best AS (
    SELECT run_id, source_id, kernel_id, level, arg_min(measured, preference) AS way
    FROM measured
    WHERE bytes_per_s IS NOT NULL
    GROUP BY run_id, source_id, kernel_id, level
),
peaked AS (
    SELECT
        b.run_id,
        b.source_id,
        b.kernel_id,
        b.level,
        b.way.bytes_per_s AS bytes_per_s,
        nullif(b.way.profile_peak, 0) AS profile_peak,
        -- Both edges of the clock, in kHz, and bits to bytes.
        CASE WHEN b.level = 'DRAM' THEN
            2000 * nullif(b.way.metric['device__attribute_memory_clock_rate'], 0)
            * nullif(b.way.metric['device__attribute_global_memory_bus_width'], 0) / 8
            END AS attribute_peak,
        CASE WHEN b.level = 'DRAM' THEN r.memory_bytes_per_s END AS reference_peak
    FROM best AS b
    LEFT JOIN profiled_gpu AS g USING (run_id, source_id, kernel_id)
    LEFT JOIN gpu AS r ON r.gpu = g.gpu
)
SELECT
    run_id,
    source_id,
    kernel_id,
    level,
    bytes_per_s,
    coalesce(profile_peak, attribute_peak, reference_peak) AS peak_bytes_per_s,
    CASE
        WHEN profile_peak IS NOT NULL THEN 'profile'
        WHEN attribute_peak IS NOT NULL THEN 'device attributes'
        WHEN reference_peak IS NOT NULL THEN 'data sheet'
    END AS peak_bytes_source
FROM peaked
