-- Energy of each GPU: by its counter where there is one, else by its power; and whether
-- the two agree. What lies in gaps, and across a reset of the counter, is filled by the
-- other way where that has it, and else left out: see the coverage.
-- Grain: one row per (run_id, host, gpu_id, source_id).
--
-- run_id       Run.
-- host         Host; NULL when nothing says it.
-- gpu_id       Physical GPU.
-- device_id    Index on the host.
-- span_ns      First to last sample.
-- coverage_share  Part of the span of which the energy is known.
-- energy_j     Energy; NULL when neither way has any.
-- origin       counter, power, or counter and power where one fills the other's holes.
-- counted_j    By the counter.
-- integral_j   By power.
-- agreement_ratio  Counter / power over the time that both have; NULL with one of them.
-- mean_power_w  Energy / the time of which it is known.
-- idle_j       Energy while the GPU had no work; NULL where nothing says it.
-- idle_share   Idle / energy.
-- reset_count  Times that the counter fell.
-- source_id    Source file.
WITH summed AS (
    SELECT
        telemetry_key,
        max(end_ns) - min(start_ns) AS span_ns,
        sum(coalesce(counted_j, integral_j)) AS energy_j,
        sum(end_ns - start_ns) FILTER (coalesce(counted_j, integral_j) IS NOT NULL)
            AS known_ns,
        sum(counted_j) AS counted_j,
        sum(integral_j) AS integral_j,
        sum(integral_j) FILTER (counted_j IS NULL) AS filled_j,
        sum(counted_j) FILTER (integral_j IS NOT NULL) AS both_counted_j,
        sum(integral_j) FILTER (counted_j IS NOT NULL) AS both_integral_j,
        count(is_active) AS judged_count,
        sum(coalesce(counted_j, integral_j)) FILTER (NOT is_active) AS idle_j
    FROM energy_piece
    GROUP BY telemetry_key
),
reset AS (
    SELECT run_id, source_id, host, gpu_id, count(*) AS reset_count
    FROM gpu_event
    WHERE kind = 'counter_reset' AND metric = 'energy_j'
    GROUP BY run_id, source_id, host, gpu_id
)
SELECT
    g.run_id,
    g.host,
    g.gpu_id,
    g.device_id,
    s.span_ns,
    share_of(coalesce(s.known_ns, 0), s.span_ns) AS coverage_share,
    s.energy_j,
    CASE
        WHEN s.counted_j IS NULL AND s.integral_j IS NULL THEN NULL
        WHEN s.counted_j IS NULL THEN 'power'
        WHEN s.filled_j IS NULL THEN 'counter'
        ELSE 'counter and power'
    END AS origin,
    s.counted_j,
    s.integral_j,
    share_of(s.both_counted_j, s.both_integral_j) AS agreement_ratio,
    share_of(s.energy_j * 1e9, s.known_ns) AS mean_power_w,
    CASE WHEN s.judged_count > 0 AND s.energy_j IS NOT NULL THEN coalesce(s.idle_j, 0) END
        AS idle_j,
    CASE WHEN s.judged_count > 0 THEN share_of(coalesce(s.idle_j, 0), s.energy_j) END
        AS idle_share,
    coalesce(r.reset_count, 0) AS reset_count,
    g.source_id
FROM summed AS s
JOIN telemetry_gpu AS g USING (telemetry_key)
LEFT JOIN reset AS r
    ON r.run_id = g.run_id
    AND r.source_id = g.source_id
    AND r.gpu_id = g.gpu_id
    AND r.host IS NOT DISTINCT FROM g.told_host
ORDER BY g.run_id, g.host, g.gpu_id, g.source_id
