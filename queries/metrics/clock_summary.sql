-- Clock, power and temperature of each GPU while it had work, and which share of the time
-- something held the clock down.
-- Grain: one row per (run_id, host, gpu_id, source_id).
--
-- run_id       Run.
-- host         Host; NULL when nothing says it.
-- gpu_id       Physical GPU.
-- device_id    Index on the host.
-- sample_count  Samples.
-- span_ns      First to last sample; NULL where times are not known.
-- coverage_share  Time that samples stand for / span; NULL where times are not known.
-- active_share  Part of the sampled time with work; NULL where nothing says it.
-- median_clock_hz  Median SM clock with work.
-- own_clock_hz  The same without slowdown; NULL for a GPU slowed down all along.
-- peer_clock_hz  Median of GPUs of the same product; NULL when they are too few.
-- throttled_share  Part of the sampled time with throttling.
-- power_brake_share  Part by the power brake.
-- thermal_share  Part by temperature.
-- unexplained_share  Part with a lower clock and no reason, or none sampled.
-- power_cap_share  Part of the samples with a power cap, ordinary or not; NULL where
--              reasons are not sampled.
-- mean_power_w  Mean board power with work.
-- power_limit_w  Power limit in force; of the product where it is not sampled.
-- power_share  Mean power with work / limit.
-- mean_temperature_celsius  Mean temperature with work.
-- max_temperature_celsius  Highest temperature.
-- is_primary   Whether no other file tells of this GPU for longer.
-- source_id    Source file.
WITH held AS (
    SELECT
        telemetry_key,
        count(*) AS held_count,
        count(*) FILTER (limited_by = 'power brake') AS brake_count,
        count(*) FILTER (family = 'thermal') AS thermal_count,
        count(*) FILTER (family = 'unexplained') AS unexplained_count
    FROM held_round
    WHERE is_throttling
    GROUP BY telemetry_key
),
summed AS (
    SELECT
        telemetry_key,
        count(*) AS sample_count,
        max(ts_ns) - min(ts_ns) + any_value(usual_ns) AS span_ns,
        sum(dur_ns) AS covered_ns,
        avg(is_active::INTEGER) AS active_share,
        median(sm_clock_hz) FILTER (is_active IS NOT FALSE) AS median_clock_hz,
        avg((reasons & 4 > 0)::INTEGER) AS power_cap_share,
        avg(power_w) FILTER (is_active IS NOT FALSE) AS mean_power_w,
        avg(temperature_celsius) FILTER (is_active IS NOT FALSE)
            AS mean_temperature_celsius,
        max(temperature_celsius) AS max_temperature_celsius,
        count(coalesce(sm_clock_hz, reasons)) AS clocked_count
    FROM gpu_round
    GROUP BY telemetry_key
)
SELECT
    g.run_id,
    g.host,
    g.gpu_id,
    g.device_id,
    s.sample_count,
    s.span_ns::BIGINT AS span_ns,
    share_of(s.covered_ns, s.span_ns) AS coverage_share,
    s.active_share,
    s.median_clock_hz,
    c.own_clock_hz,
    c.peer_clock_hz,
    share_of(coalesce(h.held_count, 0), s.clocked_count) AS throttled_share,
    share_of(coalesce(h.brake_count, 0), s.clocked_count) AS power_brake_share,
    share_of(coalesce(h.thermal_count, 0), s.clocked_count) AS thermal_share,
    share_of(coalesce(h.unexplained_count, 0), s.clocked_count) AS unexplained_share,
    s.power_cap_share,
    s.mean_power_w,
    c.power_limit_w,
    share_of(s.mean_power_w, c.power_limit_w) AS power_share,
    s.mean_temperature_celsius,
    s.max_temperature_celsius,
    g.is_primary,
    g.source_id
FROM summed AS s
JOIN telemetry_gpu AS g USING (telemetry_key)
JOIN clock_reference AS c USING (telemetry_key)
LEFT JOIN held AS h USING (telemetry_key)
ORDER BY g.run_id, g.host, g.gpu_id, g.source_id
