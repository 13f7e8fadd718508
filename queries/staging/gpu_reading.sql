-- What can be averaged: samples of whole GPUs that are no counters since some start.
-- Parts of a GPU (MIG instances, links) are counted in its own rows too.
-- Grain: one row per sample.
--
-- run_id     Run.
-- source_id  Source file.
-- host       Host; NULL when the source does not say.
-- gpu_id     Physical GPU.
-- device_id  Index on the host, or CUDA ordinal.
-- ts_ns      ns since the source's capture start; NULL where not known.
-- tick       Round of a source without a clock.
-- metric     Metric; its name ends in its unit.
-- kind       gauge, rate, state or mask; NULL for a metric not in gpu_metric.
-- value      Value in the metric's unit.
SELECT
    sample.run_id,
    sample.source_id,
    sample.host,
    sample.gpu_id,
    sample.device_id,
    sample.ts_ns,
    sample.tick,
    sample.metric,
    gpu_metric.kind,
    sample.value
FROM gpu_sample AS sample
LEFT JOIN gpu_metric ON gpu_metric.metric = sample.metric
WHERE sample.entity = 'gpu'
    AND gpu_metric.kind IS DISTINCT FROM 'counter'
