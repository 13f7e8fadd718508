-- Kernels under Nsight Compute with their speed of light and what limits them, by the
-- rule that ncu itself applies. Durations are not here: ncu locks clocks and flushes
-- caches, so they are no part of a job's time.
-- Grain: one row per (run_id, source_id, kernel_id).
--
-- run_id           Run.
-- source_id        Source file.
-- kernel_id        Kernel within it.
-- compute_share    Compute (SM) throughput / its peak; NULL when not collected.
-- memory_share     Memory throughput / its peak; NULL when not collected.
-- wave_count       Waves of blocks per SM; NULL when unknown.
-- class            compute bound, memory bound, latency bound, balanced; NULL when not
--                  both throughputs are known.
-- is_high          Whether one throughput is at least threshold sol_high_share.
-- is_small_grid    Latency bound, and the grid is smaller than one wave; NULL when the
--                  waves are unknown.
-- clock_hz         SM clock while it was profiled.
-- clock_share      clock / the SM's maximum clock.
-- is_clock_locked  Whether ncu held the clocks at their base: as its session page says,
--                  else clock_share is below threshold profiler_clock_share.
WITH session AS (
    SELECT
        run_id,
        -- Not given means base.
        bool_and(coalesce(clock_control, 'base') = 'base') AS is_clock_locked
    FROM profiler_session
    GROUP BY run_id
    HAVING count(DISTINCT coalesce(clock_control, 'base')) = 1
),
limit_of AS (
    SELECT
        threshold_of('sol_high_share') AS high,
        threshold_of('sol_latency_share') AS latency,
        threshold_of('sol_difference_share') AS difference,
        threshold_of('small_grid_wave_count') AS waves,
        threshold_of('profiler_clock_share') AS clock
),
measured AS (
    SELECT
        k.run_id,
        k.source_id,
        k.kernel_id,
        m.metric['sm__throughput.avg.pct_of_peak_sustained_elapsed'] / 100
            AS compute_share,
        m.metric['gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed'] / 100
            AS memory_share,
        m.metric['launch__waves_per_multiprocessor'] AS wave_count,
        -- An SM holds at least one block, so fewer blocks than SMs are less than a wave.
        CASE WHEN k.grid_block_count < g.sm_count THEN true END AS is_below_sms,
        coalesce(
            m.metric['gpc__cycles_elapsed.avg.per_second'],
            m.metric['sm__cycles_elapsed.avg.per_second'],
            m.metric['smsp__cycles_elapsed.avg.per_second']
        ) AS clock_hz,
        m.metric['device__attribute_clock_rate'] * 1000 AS max_clock_hz
    FROM kernel_profile AS k
    LEFT JOIN profiled_metric AS m USING (run_id, source_id, kernel_id)
    LEFT JOIN profiled_gpu AS g USING (run_id, source_id, kernel_id)
),
judged AS (
    SELECT
        m.*,
        greatest(m.compute_share, m.memory_share) >= l.high AS is_high,
        m.compute_share < l.latency AND m.memory_share < l.latency AS is_latency_bound,
        -- 0.75 - 0.65 would else be less than 0.1.
        round(abs(m.compute_share - m.memory_share), 9) AS difference,
        coalesce(m.wave_count < l.waves, m.is_below_sms) AS is_below_a_wave,
        share_of(m.clock_hz, m.max_clock_hz) AS clock_share,
        l.difference AS least_difference,
        l.clock AS least_clock_share
    FROM measured AS m
    CROSS JOIN limit_of AS l
)
SELECT
    j.run_id,
    j.source_id,
    j.kernel_id,
    j.compute_share,
    j.memory_share,
    j.wave_count,
    CASE
        WHEN j.compute_share IS NULL OR j.memory_share IS NULL THEN NULL
        WHEN j.is_latency_bound THEN 'latency bound'
        -- Of a high one ncu names the unit that is used most.
        WHEN j.difference < j.least_difference
            AND (NOT j.is_high OR j.difference = 0) THEN 'balanced'
        WHEN j.compute_share > j.memory_share THEN 'compute bound'
        ELSE 'memory bound'
    END AS class,
    CASE WHEN j.is_high THEN true
        WHEN j.compute_share IS NOT NULL AND j.memory_share IS NOT NULL THEN false
        END AS is_high,
    CASE WHEN j.is_latency_bound THEN j.is_below_a_wave
        WHEN NOT j.is_latency_bound THEN false END AS is_small_grid,
    j.clock_hz,
    j.clock_share,
    coalesce(s.is_clock_locked, j.clock_share < j.least_clock_share) AS is_clock_locked
FROM judged AS j
LEFT JOIN session AS s USING (run_id)
