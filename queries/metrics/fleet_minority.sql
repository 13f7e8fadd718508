-- GPUs that differ from the rest of their product's in the run, which a mean over all of
-- them hides: which, how many of how many, and how far. By the modified z-score, with a
-- share of the median as the least spread.
-- Grain: one row per (run_id, gpu_name, measure, direction).
--
-- run_id       Run.
-- gpu_name     Product; NULL when not told.
-- measure      What is compared; its name ends in its unit.
-- direction    low or high: on which side of the rest the minority is.
-- minority_count  GPUs that differ.
-- gpu_count    GPUs with this measure.
-- minority_share  Minority / all.
-- fleet_mean   Mean over all: what hides the minority.
-- fleet_median  Median over all.
-- minority_median  Median of the minority.
-- extreme_value  Value of the GPU that is furthest off.
-- difference_share  Minority's median / fleet's median - 1; NULL with a median of 0.
-- host_count   Hosts of the minority.
-- racks        Their racks; NULL when not told.
-- power_domains  Their power domains.
-- gpus         The minority, furthest off first, as host and index; at most 32 are named.
WITH own AS (
    SELECT
        s.run_id, s.host, s.gpu_id, s.device_id, s.source_id,
        unnest([
            {'measure': 'own_clock_hz', 'value': s.own_clock_hz},
            {'measure': 'median_clock_hz', 'value': s.median_clock_hz},
            {'measure': 'throttled_share', 'value': s.throttled_share},
            {'measure': 'mean_power_w', 'value': s.mean_power_w},
            {'measure': 'mean_temperature_celsius', 'value': s.mean_temperature_celsius}
        ], recursive := true)
    FROM clock_summary AS s
    WHERE s.is_primary
    UNION ALL
    SELECT
        run_id, host, gpu_id, device_id, source_id, metric, mean_value
    FROM gpu_utilisation
    WHERE is_primary AND reason IS NULL
    UNION ALL
    SELECT
        run_id, host, gpu_id, device_id, source_id, 'peak_used_bytes', peak_used_bytes
    FROM memory_headroom
    WHERE is_primary
),
named AS (
    SELECT
        o.*, g.gpu_name, g.rack, g.power_domain,
        gpu_called(o.host, o.device_id, o.gpu_id) AS label
    FROM own AS o
    JOIN telemetry_gpu AS g
        ON g.run_id = o.run_id
        AND g.source_id = o.source_id
        AND g.gpu_id = o.gpu_id
        AND g.host IS NOT DISTINCT FROM o.host
    WHERE o.value IS NOT NULL
),
centred AS (
    SELECT
        *,
        median(value) OVER fleet AS fleet_median,
        avg(value) OVER fleet AS fleet_mean,
        count(*) OVER fleet AS gpu_count
    FROM named
    WINDOW fleet AS (PARTITION BY run_id, gpu_name, measure)
),
spread AS (
    SELECT
        *,
        -- 1.4826: median deviation to standard deviation of a normal distribution.
        1.4826 * median(abs(value - fleet_median)) OVER (
            PARTITION BY run_id, gpu_name, measure
        ) AS deviation,
        CASE WHEN measure LIKE '%\_share' ESCAPE '\' THEN 1 ELSE abs(fleet_median) END
            AS scale
    FROM centred
),
outside AS (
    SELECT
        *,
        CASE WHEN value < fleet_median THEN 'low' ELSE 'high' END AS direction,
        abs(value - fleet_median) AS distance
    FROM spread
    WHERE gpu_count >= threshold_of('peer_gpu_count')
        AND abs(value - fleet_median) > threshold_of('straggler_score') * CASE
            WHEN deviation > threshold_of('fleet_noise_share') * scale THEN deviation
            ELSE threshold_of('fleet_noise_share') * scale
        END
)
SELECT
    run_id,
    gpu_name,
    measure,
    direction,
    count(*) AS minority_count,
    any_value(gpu_count) AS gpu_count,
    count(*) / any_value(gpu_count) AS minority_share,
    any_value(fleet_mean) AS fleet_mean,
    any_value(fleet_median) AS fleet_median,
    median(value) AS minority_median,
    arg_max(value, distance) AS extreme_value,
    median(value) / nullif(any_value(fleet_median), 0) - 1 AS difference_share,
    count(DISTINCT host) AS host_count,
    string_agg(DISTINCT rack, ', ' ORDER BY rack) AS racks,
    string_agg(DISTINCT power_domain, ', ' ORDER BY power_domain) AS power_domains,
    array_to_string(list(label ORDER BY distance DESC, label)[:32], ', ') AS gpus
FROM outside
GROUP BY run_id, gpu_name, measure, direction
ORDER BY run_id, gpu_name, measure, direction
