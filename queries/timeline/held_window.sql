-- Samples with a clock held down that follow each other, as one window each.
-- Grain: one row per (telemetry_key, window_number).
--
-- telemetry_key  See telemetry_gpu.
-- window_number  1, 2, ... in the order of time.
-- is_throttling  See held_round.
-- limited_by   Reason with most of the window's samples; of equal ones the weightier.
-- family       power, thermal, setting or unexplained.
-- reasons      All reasons as a mask; NULL when not sampled.
-- start_ns     First sample, ns since the source's capture start; NULL where not known.
-- end_ns       End of the time that the last sample stands for.
-- first_tick   First round, of a source without a clock.
-- last_tick    Last round.
-- sample_count  Samples.
-- min_clock_hz  Lowest SM clock.
-- mean_clock_hz  Mean SM clock.
-- fallen_share  Mean distance below the greater of the GPU's own and its peers' clock.
-- mean_power_w  Mean board power.
-- max_temperature_celsius  Highest temperature.
WITH held AS MATERIALIZED (
    FROM held_round
),
by_reason AS (
    SELECT
        telemetry_key, window_number, limited_by, family, min(priority) AS priority,
        count(*) AS reason_count
    FROM held
    GROUP BY telemetry_key, window_number, limited_by, family
),
main_reason AS (
    SELECT
        telemetry_key, window_number,
        arg_max(
            {'limited_by': limited_by, 'family': family}, (reason_count, -priority)
        ) AS main
    FROM by_reason
    GROUP BY telemetry_key, window_number
),
gathered AS (
    SELECT
        telemetry_key,
        window_number,
        any_value(is_throttling) AS is_throttling,
        bit_or(reasons) AS reasons,
        min(ts_ns) AS start_ns,
        max(ts_ns + dur_ns) AS end_ns,
        min(tick) AS first_tick,
        max(tick) AS last_tick,
        count(*) AS sample_count,
        min(sm_clock_hz) AS min_clock_hz,
        avg(sm_clock_hz) AS mean_clock_hz,
        avg(fallen_share) AS fallen_share,
        avg(power_w) AS mean_power_w,
        max(temperature_celsius) AS max_temperature_celsius
    FROM held
    GROUP BY telemetry_key, window_number
    HAVING bool_or(is_hard) OR count(*) >= threshold_of('throttle_sample_count')
)
SELECT
    g.telemetry_key,
    row_number() OVER (PARTITION BY g.telemetry_key ORDER BY g.window_number)
        AS window_number,
    g.is_throttling,
    m.main.limited_by AS limited_by,
    m.main.family AS family,
    g.reasons,
    g.start_ns,
    g.end_ns,
    g.first_tick,
    g.last_tick,
    g.sample_count,
    g.min_clock_hz,
    g.mean_clock_hz,
    g.fallen_share,
    g.mean_power_w,
    g.max_temperature_celsius
FROM gathered AS g
JOIN main_reason AS m USING (telemetry_key, window_number)
