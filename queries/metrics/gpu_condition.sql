-- Clock, power, temperature and memory of each GPU over a run, as one follows them from
-- run to run.
-- Grain: one row per (run_id, host, gpu_id, source_id).
-- Better: lower.
-- Value: median_sm_clock_hz higher, median_power_w, max_temperature_celsius,
--   max_memory_used_bytes.
-- Samples: sample_count.
--
-- run_id     Run.
-- host       Host; NULL when the source does not say.
-- gpu_id     Physical GPU.
-- sample_count  Samples of these metrics.
-- median_sm_clock_hz  Median clock of the SMs.
-- median_power_w  Median power.
-- max_temperature_celsius  Highest temperature.
-- max_memory_used_bytes  Most device memory (frame buffer) in use.
-- source_id  Source file.
SELECT
    run_id,
    host,
    gpu_id,
    count(*) AS sample_count,
    median(value) FILTER (metric = 'sm_clock_hz') AS median_sm_clock_hz,
    median(value) FILTER (metric = 'power_w') AS median_power_w,
    max(value) FILTER (metric = 'temperature_celsius') AS max_temperature_celsius,
    max(value) FILTER (metric = 'fb_used_bytes') AS max_memory_used_bytes,
    source_id
FROM gpu_reading
WHERE metric IN (
    'sm_clock_hz', 'power_w', 'temperature_celsius', 'fb_used_bytes'
)
GROUP BY run_id, host, gpu_id, source_id
ORDER BY run_id, host, gpu_id, source_id
