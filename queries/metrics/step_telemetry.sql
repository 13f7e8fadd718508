-- What the hardware did during each training step: clocks, power, temperature and use of
-- the run's GPUs, from the samples that lie in the step. Steps shorter than the time
-- between samples have none and are not here.
-- Grain: one row per (run_id, series, attempt, step).
--
-- run_id       Run.
-- series       See step_period: the source of a training log, or capture.
-- attempt      Attempt within the log.
-- step         Step.
-- clock        utc or local.
-- start_ns     Start on that clock, ns since 1970.
-- step_ns      Time of one step.
-- gpu_count    GPUs with a sample in it.
-- run_gpu_count  GPUs sampled in the run.
-- sample_count  Samples.
-- coverage_share  Time that samples stand for / time of all sampled GPUs in the step.
-- throttled_gpu_count  GPUs with the clock held down.
-- mean_clock_hz  Mean SM clock.
-- min_clock_hz  Lowest SM clock.
-- mean_power_w  Mean board power.
-- max_temperature_celsius  Highest temperature.
-- mean_util_share  Mean GPU-Util.
-- mean_sm_active_share  Mean SM active.
-- confidence   1 where telemetry has a time of day; see telemetry_clock.
WITH placed AS (
    SELECT
        g.run_id, g.gpu_key, c.clock, c.confidence,
        c.zero_ns + r.ts_ns AS at_ns,
        r.dur_ns, r.sm_clock_hz, r.power_w, r.temperature_celsius, r.gpu_util_share,
        r.sm_active_share,
        coalesce(h.is_throttling, false) AS is_throttled
    FROM gpu_round AS r
    JOIN telemetry_gpu AS g USING (telemetry_key)
    JOIN telemetry_clock AS c USING (telemetry_key)
    LEFT JOIN held_round AS h
        ON h.telemetry_key = r.telemetry_key AND h.ts_ns = r.ts_ns AND h.is_throttling
    WHERE g.is_primary AND r.ts_ns IS NOT NULL
),
series AS (
    SELECT DISTINCT run_id, clock, series FROM step_period
),
met AS (
    SELECT p.*, s.series, s.attempt, s.step, s.start_ns, s.end_ns, s.step_ns
    FROM (FROM placed JOIN series USING (run_id, clock)) AS p
    ASOF JOIN step_period AS s
        ON s.run_id = p.run_id
        AND s.clock = p.clock
        AND s.series = p.series
        AND p.at_ns >= s.start_ns
    WHERE p.at_ns < s.end_ns
),
total AS (
    SELECT run_id, count(DISTINCT gpu_key) AS gpu_count
    FROM telemetry_gpu
    WHERE NOT is_profiler
    GROUP BY run_id
)
SELECT
    m.run_id,
    m.series,
    m.attempt,
    m.step,
    m.clock,
    m.start_ns,
    m.step_ns,
    count(DISTINCT m.gpu_key) AS gpu_count,
    any_value(t.gpu_count) AS run_gpu_count,
    count(*) AS sample_count,
    sum(
        CASE WHEN m.at_ns + m.dur_ns > m.end_ns THEN m.end_ns - m.at_ns ELSE m.dur_ns END
    ) / (any_value(t.gpu_count) * (m.end_ns - m.start_ns)) AS coverage_share,
    count(DISTINCT m.gpu_key) FILTER (m.is_throttled) AS throttled_gpu_count,
    avg(m.sm_clock_hz) AS mean_clock_hz,
    min(m.sm_clock_hz) AS min_clock_hz,
    avg(m.power_w) AS mean_power_w,
    max(m.temperature_celsius) AS max_temperature_celsius,
    avg(m.gpu_util_share) AS mean_util_share,
    avg(m.sm_active_share) AS mean_sm_active_share,
    min(m.confidence) AS confidence
FROM met AS m
JOIN total AS t USING (run_id)
GROUP BY
    m.run_id, m.series, m.attempt, m.step, m.clock, m.start_ns, m.end_ns, m.step_ns
ORDER BY m.run_id, m.series, m.attempt, m.step
