-- Traffic of each GPU over a whole capture, as telemetry sampled it: device memory, PCIe
-- and NVLink. Idle time counts: it says how much of a path was used, not how well.
-- Grain: one row per (run_id, source_id, subject_kind, subject_id).
--
-- run_id        Run.
-- source_id     Source file.
-- subject_kind  dram device, pcie or nvlink.
-- subject_id    Number of the GPU, path and metric within its file.
-- host          Host; NULL when not told.
-- rank          NULL: a sample does not tell it.
-- device_id     Index on the host, or CUDA ordinal; NULL when not told.
-- gpu_id        Physical GPU.
-- name          Direction: tx sent by the GPU, rx received, both together.
-- conditions    GPU and metric.
-- subject_count  Samples.
-- bytes         NULL: samples are rates or shares.
-- dur_ns        First to last sample; NULL where times are not known.
-- bytes_per_s   Mean rate; mean share x peak where shares are sampled.
-- reference_bytes_per_s  Peak of the path; NULL when not known.
-- reference_source  What the peak rests on.
-- candidates    NULL.
-- stated_share  Mean share of the peak, where that is what was sampled.
-- low_share     NULL: an average over time that is low is no fault.
-- confidence    medium: an average; low below 10 samples.
-- reason        Why there is no number; else NULL.
WITH sampled AS (
    SELECT
        run_id, source_id, host, gpu_id, path, direction, metric,
        any_value(device_id) AS device_id,
        count(*) AS sample_count,
        avg(bytes_per_s) AS mean_bytes_per_s,
        avg(peak_share) AS mean_share,
        max(ts_ns) - min(ts_ns) AS dur_ns
    FROM traffic_reading
    GROUP BY run_id, source_id, host, gpu_id, path, direction, metric
)
SELECT
    s.run_id,
    s.source_id,
    CASE WHEN s.path = 'dram' THEN 'dram device' ELSE s.path END AS subject_kind,
    row_number() OVER (
        PARTITION BY s.run_id, s.source_id
        ORDER BY s.host, s.gpu_id, s.path, s.direction, s.metric
    ) AS subject_id,
    s.host,
    NULL::INTEGER AS rank,
    s.device_id,
    s.gpu_id,
    s.direction AS name,
    concat_ws(', ', p.gpu_name, s.metric) AS conditions,
    s.sample_count AS subject_count,
    NULL::BIGINT AS bytes,
    s.dur_ns,
    coalesce(s.mean_bytes_per_s, s.mean_share * p.peak_bytes_per_s) AS bytes_per_s,
    p.peak_bytes_per_s AS reference_bytes_per_s,
    p.peak_source AS reference_source,
    NULL::VARCHAR AS candidates,
    s.mean_share AS stated_share,
    NULL::DOUBLE AS low_share,
    CASE WHEN s.sample_count < 10 THEN 'low' ELSE 'medium' END AS confidence,
    'no peak: ' || p.reason AS reason
FROM sampled AS s
LEFT JOIN traffic_peak AS p
    ON p.run_id = s.run_id
    AND p.source_id = s.source_id
    AND p.host IS NOT DISTINCT FROM s.host
    AND p.gpu_id = s.gpu_id
    AND p.path = s.path
    AND p.direction = s.direction
ORDER BY run_id, source_id, subject_kind, subject_id
