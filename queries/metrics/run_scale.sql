-- How large a run is and what it costs: the numbers that turn a share of time into
-- GPU-hours and money.
-- Grain: one row per run_id.
--
-- run_id            Run.
-- gpu_count         GPUs of the job; NULL when nothing tells.
-- gpu_count_source  What tells: run.toml, the environment or log of the job, or the GPUs
--                   that its traces show, which may be fewer than it has.
-- observed_ns       How long it was observed: the longest source's first to last record.
-- gpu_hours         gpu_count * observed time.
-- price_per_gpu_hour  From run.toml; NULL without.
-- currency          Of the price; NULL without.
WITH fact AS (
    SELECT
        run_id,
        min(value_number) FILTER (key = 'hardware.gpu_count') AS gpu_count,
        min(source) FILTER (key = 'hardware.gpu_count') AS gpu_count_source,
        min(value_number) FILTER (key = 'parallelism.world_size') AS world_size,
        min(source) FILTER (key = 'parallelism.world_size') AS world_size_source,
        min(value_number) FILTER (key = 'cost.price_per_gpu_hour') AS price_per_gpu_hour,
        min(value_text) FILTER (key = 'cost.currency') AS currency
    FROM run_fact
    GROUP BY run_id
),
traced AS (
    SELECT
        run_id,
        count(DISTINCT (host, gpu_id, CASE WHEN host IS NULL THEN source_id END)) AS gpus
    FROM traced_device
    GROUP BY run_id
),
sampled AS (
    SELECT
        run_id,
        count(DISTINCT (host, gpu_id, CASE WHEN host IS NULL THEN source_id END)) AS gpus
    FROM gpu_sample
    WHERE entity = 'gpu' AND gpu_id <> 'gpu:unknown'
    GROUP BY run_id
),
observed AS (
    SELECT run_id, max(dur_ns) AS observed_ns
    FROM (
        SELECT d.run_id, max(t.end_ns - t.start_ns) AS dur_ns
        FROM device_time AS t
        JOIN traced_device AS d USING (device_key)
        GROUP BY d.run_id
        UNION ALL
        SELECT run_id, max(ts_ns) - min(ts_ns)
        FROM gpu_sample
        GROUP BY run_id, source_id
        UNION ALL
        SELECT run_id, sum(step_ns)
        FROM training_step
        GROUP BY run_id, source_id
    )
    GROUP BY run_id
)
SELECT
    r.run_id,
    coalesce(f.gpu_count, f.world_size, t.gpus, s.gpus)::BIGINT AS gpu_count,
    CASE
        WHEN f.gpu_count IS NOT NULL THEN f.gpu_count_source
        WHEN f.world_size IS NOT NULL THEN f.world_size_source
        WHEN t.gpus IS NOT NULL THEN 'GPUs that were traced'
        WHEN s.gpus IS NOT NULL THEN 'GPUs that were sampled'
    END AS gpu_count_source,
    o.observed_ns::BIGINT AS observed_ns,
    coalesce(f.gpu_count, f.world_size, t.gpus, s.gpus) * o.observed_ns / 3.6e12
        AS gpu_hours,
    f.price_per_gpu_hour,
    f.currency
FROM (SELECT DISTINCT run_id FROM source_file) AS r
LEFT JOIN fact AS f USING (run_id)
LEFT JOIN traced AS t USING (run_id)
LEFT JOIN sampled AS s USING (run_id)
LEFT JOIN observed AS o USING (run_id)
ORDER BY r.run_id
