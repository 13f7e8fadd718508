-- Traffic of each GPU over time, in equal windows (threshold activity_window_count of
-- them over the samples of its file): device memory, PCIe, NVLink against their peaks.
-- Grain: one row per (run_id, source_id, host, gpu_id, path, direction, metric,
--   window_index).
--
-- run_id        Run.
-- source_id     Source file.
-- host          Host; NULL when not told.
-- gpu_id        Physical GPU.
-- device_id     Index on the host, or CUDA ordinal; NULL when not told.
-- path          pcie, nvlink or dram.
-- direction     tx sent by the GPU, rx received, both together.
-- metric        What was sampled.
-- window_index  0, 1, 2, ...; rounds where the source has no clock.
-- start_ns      First sample of the window, ns since the capture began; NULL without.
-- sample_count  Samples; a window without any has no row.
-- bytes_per_s   Mean rate; NULL where neither rate nor peak is known.
-- highest_bytes_per_s  Highest sample.
-- peak_bytes_per_s  Peak of the path; NULL when not known.
-- peak_share    Mean / peak; NULL when not known, or beyond 1, which no path carries.
WITH spread AS (
    SELECT
        *,
        coalesce(ts_ns, tick) AS place,
        min(coalesce(ts_ns, tick)) OVER source AS first_place,
        max(coalesce(ts_ns, tick)) OVER source AS last_place
    FROM traffic_reading
    WINDOW source AS (PARTITION BY run_id, source_id)
),
windowed AS (
    SELECT
        *,
        (place - first_place) // greatest(
            1, ceil((last_place - first_place + 1)
                / greatest(1, threshold_of('activity_window_count')))
        )::BIGINT AS window_index
    FROM spread
    WHERE place IS NOT NULL
),
meant AS (
    SELECT
        run_id, source_id, host, gpu_id, path, direction, metric, window_index,
        any_value(device_id) AS device_id,
        min(ts_ns) AS start_ns,
        count(*) AS sample_count,
        avg(bytes_per_s) AS bytes_per_s,
        max(bytes_per_s) AS highest_bytes_per_s,
        avg(peak_share) AS peak_share,
        max(peak_share) AS highest_share
    FROM windowed
    GROUP BY run_id, source_id, host, gpu_id, path, direction, metric, window_index
)
SELECT
    m.run_id,
    m.source_id,
    m.host,
    m.gpu_id,
    m.device_id,
    m.path,
    m.direction,
    m.metric,
    m.window_index,
    m.start_ns,
    m.sample_count,
    coalesce(m.bytes_per_s, m.peak_share * p.peak_bytes_per_s) AS bytes_per_s,
    coalesce(m.highest_bytes_per_s, m.highest_share * p.peak_bytes_per_s)
        AS highest_bytes_per_s,
    p.peak_bytes_per_s,
    CASE WHEN coalesce(m.peak_share, m.bytes_per_s / p.peak_bytes_per_s) <= 1
        THEN coalesce(m.peak_share, m.bytes_per_s / p.peak_bytes_per_s) END AS peak_share
FROM meant AS m
LEFT JOIN traffic_peak AS p
    ON p.run_id = m.run_id
    AND p.source_id = m.source_id
    AND p.host IS NOT DISTINCT FROM m.host
    AND p.gpu_id = m.gpu_id
    AND p.path = m.path
    AND p.direction = m.direction
ORDER BY run_id, source_id, host, gpu_id, path, direction, metric, window_index
