-- What was sampled of a GPU at one time, side by side: clock, reasons, power,
-- temperature, activity; and for how long the sample stands. A profiler's own
-- samples are not here. Where no mask of reasons was sampled, single flags and then
-- growing counters of time held down stand in for it.
-- Grain: one row per (telemetry_key, ts_ns, tick).
--
-- telemetry_key  See telemetry_gpu.
-- ts_ns        ns since the source's capture start; NULL where not known.
-- tick         Round of a source without a clock.
-- usual_ns     Median time between the GPU's samples; NULL where not known.
-- dur_ns       Time until the next sample; the usual one for the last sample and before
--              a gap in the samples. NULL where not known.
-- is_after_gap  Whether it is the first, or the sample before is too long ago.
-- clock_number  Number of the sample among those with a clock or reasons.
-- sm_clock_hz  SM clock.
-- reasons      Clock event reasons, a bit mask; NULL where nothing says them.
-- power_w      Board power.
-- power_limit_w  Power limit in force.
-- temperature_celsius  Temperature of the GPU.
-- gpu_util_share  GPU-Util: share of time with any kernel.
-- sm_active_share  SM active; NULL where impossible or stuck.
-- is_stuck     Whether profiling counters read 0 while GPU-Util is full; NULL where not
--              both are sampled.
-- is_active    Whether the GPU had work; NULL where nothing says it.
WITH pivoted AS (
    SELECT
        g.telemetry_key,
        s.ts_ns,
        s.tick,
        -- Two names of one clock.
        max(s.value) FILTER (s.metric IN ('sm_clock_hz', 'graphics_clock_hz'))
            AS sm_clock_hz,
        max(s.value) FILTER (s.metric = 'clock_event_reasons')::BIGINT AS mask,
        sum(s.value * f.bit)::BIGINT AS flags,
        coalesce(
            max(s.value) FILTER (s.metric = 'power_w'),
            max(s.value) FILTER (s.metric IN ('average_power_w', 'instant_power_w'))
        ) AS power_w,
        -- Asked for, and in force after all limiters: the smaller.
        min(s.value) FILTER (s.metric IN ('enforced_power_limit_w', 'power_limit_w'))
            AS power_limit_w,
        max(s.value) FILTER (s.metric = 'temperature_celsius') AS temperature_celsius,
        max(s.value) FILTER (s.metric = 'gpu_util_share') AS gpu_util_share,
        max(s.value) FILTER (s.metric = 'sm_active_share') AS sm_active_share,
        max(s.value) FILTER (
            s.metric IN ('sm_active_share', 'gr_engine_active_share',
                'dram_active_share')
        ) AS profiled_share
    FROM gpu_sample AS s
    JOIN telemetry_gpu AS g
        ON g.run_id = s.run_id
        AND g.source_id = s.source_id
        AND g.gpu_id = s.gpu_id
        AND g.told_host IS NOT DISTINCT FROM s.host
    LEFT JOIN clock_reason AS f ON f.flag_metric = s.metric
    WHERE s.entity = 'gpu'
        AND coalesce(s.ts_ns, s.tick) IS NOT NULL
        AND NOT g.is_profiler
        AND (
            s.metric IN (
                'sm_clock_hz', 'graphics_clock_hz', 'clock_event_reasons', 'power_w',
                'average_power_w', 'instant_power_w', 'enforced_power_limit_w',
                'power_limit_w', 'temperature_celsius', 'gpu_util_share',
                'sm_active_share', 'gr_engine_active_share', 'dram_active_share'
            )
            OR f.bit IS NOT NULL
        )
    GROUP BY g.telemetry_key, s.ts_ns, s.tick
),
-- Only counters that moved at all: most never do.
counted AS (
    SELECT
        g.telemetry_key, s.ts_ns, s.tick, r.bit,
        s.value > lag(s.value) OVER (
            PARTITION BY g.telemetry_key, s.metric ORDER BY s.ts_ns, s.tick
        ) AS is_growing
    FROM gpu_sample AS s
    JOIN clock_reason AS r ON r.counter_metric = s.metric
    JOIN telemetry_gpu AS g
        ON g.run_id = s.run_id
        AND g.source_id = s.source_id
        AND g.gpu_id = s.gpu_id
        AND g.told_host IS NOT DISTINCT FROM s.host
    WHERE s.entity = 'gpu' AND NOT g.is_profiler
),
grown AS (
    SELECT telemetry_key, ts_ns, tick, bit_or(bit)::BIGINT AS counted_reasons
    FROM counted
    WHERE is_growing
    GROUP BY telemetry_key, ts_ns, tick
),
joined AS (
    SELECT
        p.* EXCLUDE (mask, flags),
        coalesce(p.mask, p.flags, g.counted_reasons) AS reasons,
        lead(p.ts_ns) OVER series - p.ts_ns AS next_ns,
        p.ts_ns - lag(p.ts_ns) OVER series AS since_ns,
        row_number() OVER series = 1 AS is_first,
        count(coalesce(p.sm_clock_hz, p.mask, p.flags, g.counted_reasons)) OVER series
            AS clock_number
    FROM pivoted AS p
    LEFT JOIN grown AS g
        ON g.telemetry_key = p.telemetry_key
        AND g.ts_ns IS NOT DISTINCT FROM p.ts_ns
        AND g.tick IS NOT DISTINCT FROM p.tick
    WINDOW series AS (PARTITION BY p.telemetry_key ORDER BY p.ts_ns, p.tick)
),
usual AS (
    SELECT telemetry_key, median(since_ns)::BIGINT AS usual_ns
    FROM joined
    GROUP BY telemetry_key
),
judged AS (
    SELECT
        j.* REPLACE (
            CASE WHEN j.sm_active_share <= 1 THEN j.sm_active_share END
                AS sm_active_share
        ),
        u.usual_ns,
        u.usual_ns * threshold_of('sample_gap_ratio') AS longest_ns,
        j.profiled_share = 0 AND j.gpu_util_share >= threshold_of('stuck_util_share')
            AS is_stuck
    FROM joined AS j
    JOIN usual AS u USING (telemetry_key)
)
SELECT
    telemetry_key,
    ts_ns,
    tick,
    usual_ns,
    CASE WHEN next_ns <= longest_ns THEN next_ns ELSE usual_ns END AS dur_ns,
    is_first OR coalesce(since_ns > longest_ns, false) AS is_after_gap,
    clock_number,
    sm_clock_hz,
    reasons,
    power_w,
    power_limit_w,
    temperature_celsius,
    gpu_util_share,
    CASE WHEN is_stuck IS NOT TRUE THEN sm_active_share END AS sm_active_share,
    is_stuck,
    CASE
        WHEN reasons & 1 > 0 THEN false
        -- Whichever of the two is sampled: greatest() leaves out what is NULL.
        WHEN greatest(gpu_util_share, sm_active_share) IS NOT NULL
            THEN greatest(gpu_util_share, sm_active_share)
                >= threshold_of('gpu_active_share')
        WHEN reasons IS NOT NULL THEN true
    END AS is_active
FROM judged
