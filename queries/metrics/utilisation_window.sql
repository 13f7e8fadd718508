-- Use of a run's GPUs over time, in equal windows (threshold activity_window_count of
-- them over the samples of one clock): the middle of the GPUs, and both ends, which a
-- mean hides. Samples of stuck counters are left out. A window without samples has no
-- row.
-- Grain: one row per (run_id, clock, metric, window_index).
--
-- run_id        Run.
-- clock         utc, local, or the source when its times compare within the file only.
-- metric        gpu_util_share, sm_active_share, sm_clock_hz, power_w or
--               temperature_celsius.
-- window_index  0, 1, 2, ...
-- start_ns      Start of the window on that clock.
-- end_ns        End of the window.
-- gpu_count     GPUs with a sample in it.
-- run_gpu_count  GPUs of the run on this clock.
-- mean_value    Mean over the GPUs of their means.
-- min_value     Lowest mean of a GPU.
-- median_value  Median of the GPUs' means.
-- max_value     Highest mean of a GPU.
WITH sampled AS (
    SELECT
        g.run_id, g.gpu_key,
        coalesce(g.clock, 'source ' || g.source_id) AS clock,
        coalesce(g.zero_ns, 0) + r.ts_ns AS at_ns,
        r.gpu_util_share, r.sm_active_share, r.sm_clock_hz, r.power_w,
        r.temperature_celsius
    FROM gpu_round AS r
    JOIN telemetry_gpu AS g USING (telemetry_key)
    WHERE r.ts_ns IS NOT NULL AND g.is_primary
),
span AS (
    SELECT
        run_id, clock, min(at_ns) AS origin_ns, max(at_ns) - min(at_ns) + 1 AS span_ns,
        count(DISTINCT gpu_key) AS run_gpu_count
    FROM sampled
    GROUP BY run_id, clock
),
extent AS (
    SELECT
        *, ceil(span_ns / threshold_of('activity_window_count'))::BIGINT AS width_ns
    FROM span
),
by_gpu AS (
    SELECT
        s.run_id, s.clock, s.gpu_key,
        (s.at_ns - e.origin_ns) // e.width_ns AS window_index,
        e.origin_ns, e.width_ns, e.run_gpu_count,
        avg(s.gpu_util_share) AS gpu_util_share,
        avg(s.sm_active_share) AS sm_active_share,
        avg(s.sm_clock_hz) AS sm_clock_hz,
        avg(s.power_w) AS power_w,
        avg(s.temperature_celsius) AS temperature_celsius
    FROM sampled AS s
    JOIN extent AS e USING (run_id, clock)
    GROUP BY ALL
),
long AS (
    UNPIVOT by_gpu
    ON gpu_util_share, sm_active_share, sm_clock_hz, power_w, temperature_celsius
    INTO NAME metric VALUE value
)
SELECT
    run_id,
    clock,
    metric,
    window_index,
    any_value(origin_ns + window_index * width_ns) AS start_ns,
    any_value(origin_ns + (window_index + 1) * width_ns) AS end_ns,
    count(*) AS gpu_count,
    any_value(run_gpu_count) AS run_gpu_count,
    avg(value) AS mean_value,
    min(value) AS min_value,
    median(value) AS median_value,
    max(value) AS max_value
FROM long
GROUP BY run_id, clock, metric, window_index
ORDER BY run_id, clock, metric, window_index
