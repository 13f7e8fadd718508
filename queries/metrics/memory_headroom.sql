-- Device memory of each GPU over the run: how full at most, and whether it keeps growing.
-- Growth is Theil and Sen's: the median slope between ten equal parts of the run, the
-- first left out, because allocators grow at the start.
-- Grain: one row per (run_id, host, gpu_id, source_id).
--
-- run_id        Run.
-- host          Host; NULL when nothing says it.
-- gpu_id        Physical GPU.
-- device_id     Index on the host.
-- sample_count  Samples of the memory in use.
-- total_bytes   Device memory; of the product where it is not sampled.
-- median_used_bytes  Median in use.
-- peak_used_bytes  Most in use.
-- peak_share    Peak / total.
-- headroom_bytes  Total - peak.
-- headroom_share  Headroom / total; below memory_headroom_share there is no room for
--               peaks.
-- is_too_full   Whether the headroom is below that; NULL with an unknown total.
-- growth_bytes_per_s  Slope; NULL with too few samples, or times not known.
-- growth_bytes  Slope times the time from the second part to the last.
-- rising_share  Steps from one part to the next with growth / all of them.
-- is_growing    Whether it grows from part to part all along, or in steps up to the end
--               and never falls, by a share of the total, of
--               the peak where that is unknown (memory_growth_share): a leak. NULL when
--               not known.
-- full_after_ns  How long after the last sample it is full, if it goes on; NULL where it
--               does not grow.
-- reason        Why growth is not known; NULL when it is.
-- is_primary    Whether no other file tells of this GPU for longer.
-- source_id     Source file.
WITH used AS (
    SELECT g.telemetry_key, s.ts_ns, s.tick, s.metric, s.value, g.first_ns, g.last_ns
    FROM gpu_sample AS s
    JOIN telemetry_gpu AS g
        ON g.run_id = s.run_id
        AND g.source_id = s.source_id
        AND g.gpu_id = s.gpu_id
        AND g.told_host IS NOT DISTINCT FROM s.host
    WHERE s.entity = 'gpu'
        AND s.metric IN (
            'fb_used_bytes', 'fb_free_bytes', 'fb_total_bytes', 'fb_reserved_bytes'
        )
),
summed AS (
    SELECT
        telemetry_key,
        count(*) FILTER (metric = 'fb_used_bytes') AS sample_count,
        max(value) FILTER (metric = 'fb_total_bytes') AS sampled_total_bytes,
        -- dcgm-exporter's default counters hold used and free, not the total.
        median(value) FILTER (metric = 'fb_used_bytes')
            + median(value) FILTER (metric = 'fb_free_bytes')
            + coalesce(median(value) FILTER (metric = 'fb_reserved_bytes'), 0)
            AS summed_total_bytes,
        median(value) FILTER (metric = 'fb_used_bytes') AS median_used_bytes,
        max(value) FILTER (metric = 'fb_used_bytes') AS peak_used_bytes
    FROM used
    GROUP BY telemetry_key
),
part AS (
    SELECT
        telemetry_key,
        10 * (ts_ns - first_ns) // (last_ns - first_ns + 1) AS part,
        median(value) AS bytes,
        avg(ts_ns) AS at_ns,
        count(*) AS part_count
    FROM used
    WHERE metric = 'fb_used_bytes' AND ts_ns IS NOT NULL
    GROUP BY ALL
),
sloped AS (
    SELECT
        a.telemetry_key,
        median((b.bytes - a.bytes) / (b.at_ns - a.at_ns)) AS slope,
        max(b.at_ns) - min(a.at_ns) AS length_ns,
        avg((b.bytes > a.bytes)::INTEGER) FILTER (b.part = a.part + 1) AS rising_share,
        -- In steps: several, up to the end, and none down; a thousandth is noise.
        count(*) FILTER (b.part = a.part + 1 AND b.bytes > 1.001 * a.bytes) >= 3
            AND max(b.part) FILTER (b.part = a.part + 1 AND b.bytes > 1.001 * a.bytes) > 6
            AND count(*) FILTER (b.part = a.part + 1 AND b.bytes < 0.999 * a.bytes) = 0
            AS is_in_steps,
        count(DISTINCT b.part) + 1 AS part_count
    FROM part AS a
    JOIN part AS b ON b.telemetry_key = a.telemetry_key AND b.part > a.part
    WHERE a.part > 0
    GROUP BY a.telemetry_key
),
product AS (
    SELECT run_id, source_id, gpu_id, max(memory_bytes) AS memory_bytes
    FROM device
    GROUP BY run_id, source_id, gpu_id
),
known AS (
    SELECT
        g.run_id, g.host, g.gpu_id, g.device_id, g.is_primary, g.source_id,
        s.*,
        coalesce(s.sampled_total_bytes, s.summed_total_bytes, p.memory_bytes)
            AS total_bytes,
        CASE WHEN l.part_count >= 8 THEN l.slope END AS slope,
        CASE WHEN l.part_count >= 8 THEN l.rising_share END AS rising_share,
        l.is_in_steps,
        l.length_ns
    FROM summed AS s
    JOIN telemetry_gpu AS g USING (telemetry_key)
    LEFT JOIN sloped AS l USING (telemetry_key)
    LEFT JOIN product AS p
        ON p.run_id = g.run_id AND p.source_id = g.source_id AND p.gpu_id = g.gpu_id
    WHERE s.sample_count > 0
),
judged AS (
    SELECT
        *,
        total_bytes - peak_used_bytes AS headroom_bytes,
        slope * length_ns AS growth_bytes,
        (rising_share >= 0.75 OR (rising_share IS NOT NULL AND is_in_steps))
            AND slope * length_ns > threshold_of('memory_growth_share')
                -- Some exporters tell the memory in use only.
                * coalesce(total_bytes, peak_used_bytes)
            AS is_growing
    FROM known
)
SELECT
    run_id,
    host,
    gpu_id,
    device_id,
    sample_count,
    total_bytes,
    median_used_bytes,
    peak_used_bytes,
    share_of(peak_used_bytes, total_bytes) AS peak_share,
    headroom_bytes,
    share_of(headroom_bytes, total_bytes) AS headroom_share,
    headroom_bytes < threshold_of('memory_headroom_share') * total_bytes AS is_too_full,
    slope * 1e9 AS growth_bytes_per_s,
    growth_bytes,
    rising_share,
    is_growing,
    CASE WHEN is_growing THEN (greatest(headroom_bytes, 0) / slope)::BIGINT END
        AS full_after_ns,
    CASE WHEN slope IS NULL THEN 'too few samples, or their times are not known' END
        AS reason,
    is_primary,
    source_id
FROM judged
ORDER BY run_id, host, gpu_id, source_id
