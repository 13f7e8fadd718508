-- Hardware counters of each GPU: how they were distributed over the capture.
-- Grain: one row per (run_id, host, gpu_id, entity, entity_id, metric,
-- source_id).
--
-- run_id        Run.
-- host          Host; NULL when the trace does not say.
-- gpu_id        Physical GPU.
-- device_id     CUDA ordinal, where one is known.
-- entity        The gpu itself, or the part of it that was measured.
-- entity_id     Which part; NULL for the GPU itself.
-- metric        Counter; its name ends in its unit.
-- sample_count  Samples.
-- mean_value    Mean of the samples.
-- min_value     Smallest.
-- median_value  Median.
-- p95_value     95th percentile.
-- max_value     Largest.
-- first_ns      Time of the first sample.
-- last_ns       Time of the last sample.
-- source_id     Source file.
SELECT
    run_id,
    host,
    gpu_id,
    any_value(device_id) AS device_id,
    entity,
    entity_id,
    metric,
    count(*) AS sample_count,
    avg(value) AS mean_value,
    min(value) AS min_value,
    median(value) AS median_value,
    quantile_cont(value, 0.95) AS p95_value,
    max(value) AS max_value,
    min(ts_ns) AS first_ns,
    max(ts_ns) AS last_ns,
    source_id
FROM gpu_sample
GROUP BY run_id, host, gpu_id, entity, entity_id, metric, source_id
ORDER BY run_id, host, gpu_id, source_id, entity, entity_id, metric
