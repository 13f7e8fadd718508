-- When each GPU ran at a lower clock under work, how far down, and what held it there.
-- Grain: one row per (run_id, host, gpu_id, window_number, source_id).
--
-- run_id       Run.
-- host         Host; NULL when nothing says it.
-- gpu_id       Physical GPU.
-- device_id    Index on the host.
-- window_number  1, 2, ... in the order of time.
-- is_throttling  False for clocks that somebody set, and for the software power cap at
--              full power.
-- limited_by   Reason with most of the window's samples.
-- family       power, thermal, setting or unexplained.
-- reason_names  All reasons seen in the window, as the mask says them.
-- reasons      All of them as a mask; NULL when not sampled.
-- start_utc_ns  Start, ns since 1970 UTC; NULL when the source's clock is not UTC.
-- start_ns     First sample, ns since the source's capture start; NULL where not known.
-- end_ns       End of the time that the last sample stands for.
-- dur_ns       end - start.
-- first_tick   First round, of a source without a clock.
-- last_tick    Last round.
-- sample_count  Samples.
-- min_clock_hz  Lowest SM clock.
-- mean_clock_hz  Mean SM clock.
-- own_clock_hz  The GPU's own median clock without slowdown.
-- peer_clock_hz  Median of GPUs of the same product.
-- fallen_share  Mean distance below the greater of the two.
-- mean_power_w  Mean board power.
-- power_limit_w  Power limit in force.
-- max_temperature_celsius  Highest temperature.
-- rack         Rack of the host.
-- power_domain  What shares a power supply.
-- source_id    Source file.
SELECT
    g.run_id,
    g.host,
    g.gpu_id,
    g.device_id,
    w.window_number,
    w.is_throttling,
    w.limited_by,
    w.family,
    (
        SELECT string_agg(r.name, ', ' ORDER BY r.bit)
        FROM clock_reason AS r
        WHERE w.reasons & r.bit > 0
    ) AS reason_names,
    w.reasons,
    CASE WHEN g.clock = 'utc' THEN g.zero_ns + w.start_ns END AS start_utc_ns,
    w.start_ns,
    w.end_ns,
    w.end_ns - w.start_ns AS dur_ns,
    w.first_tick,
    w.last_tick,
    w.sample_count,
    w.min_clock_hz,
    w.mean_clock_hz,
    c.own_clock_hz,
    c.peer_clock_hz,
    w.fallen_share,
    w.mean_power_w,
    c.power_limit_w,
    w.max_temperature_celsius,
    g.rack,
    g.power_domain,
    g.source_id
FROM held_window AS w
JOIN telemetry_gpu AS g USING (telemetry_key)
JOIN clock_reference AS c USING (telemetry_key)
ORDER BY g.run_id, g.host, g.gpu_id, g.source_id, w.window_number
