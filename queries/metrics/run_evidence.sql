-- What was collected of each run: what its verdict can rest on, and what is missing.
-- Grain: one row per run_id.
--
-- run_id          Run.
-- traced_count    Devices with activity in Nsight Systems captures.
-- trace_reason    Why there is none; else NULL.
-- rank_count      Ranks that these name.
-- world_size      Ranks of the job, as run.toml, log or environment say; NULL if unknown.
-- step_count      Steps that summaries keep and most devices have; see rank_step.
-- profile_count   Kernels profiled with Nsight Compute.
-- sampled_count   GPUs with telemetry.
-- log_step_count  Steps that training logs print.
-- benchmark_count  Measurements of nccl-tests and its like.
WITH traced AS (
    SELECT
        d.run_id,
        count(*) AS traced_count,
        count(DISTINCT d.rank) AS rank_count
    FROM device_time AS t
    JOIN traced_device AS d USING (device_key)
    GROUP BY d.run_id
),
captured AS (
    SELECT run_id, count(*) AS capture_count
    FROM source_file
    WHERE format = 'nsys-sqlite' AND status <> 'refused'
    GROUP BY run_id
),
stepped AS (
    SELECT run_id, count(DISTINCT step) AS step_count FROM rank_step GROUP BY run_id
),
profiled AS (
    SELECT run_id, count(*) AS profile_count FROM kernel_profile GROUP BY run_id
),
sampled AS (
    SELECT run_id, count(DISTINCT (host, gpu_id)) AS sampled_count
    FROM gpu_sample
    WHERE entity = 'gpu'
    GROUP BY run_id
),
logged AS (
    SELECT run_id, count(*) AS log_step_count
    FROM training_step
    WHERE kind = 'step'
    GROUP BY run_id
),
benchmarked AS (
    SELECT run_id, count(*) AS benchmark_count FROM collective_benchmark GROUP BY run_id
),
told AS (
    SELECT run_id, min(value_number)::BIGINT AS world_size
    FROM run_fact
    WHERE key = 'parallelism.world_size'
    GROUP BY run_id
)
SELECT
    r.run_id,
    coalesce(t.traced_count, 0) AS traced_count,
    CASE
        WHEN t.traced_count > 0 THEN NULL
        WHEN n.capture_count > 0 THEN 'Nsight Systems captured no work of a GPU'
        ELSE 'no Nsight Systems capture'
    END AS trace_reason,
    coalesce(t.rank_count, 0) AS rank_count,
    f.world_size,
    coalesce(s.step_count, 0) AS step_count,
    coalesce(p.profile_count, 0) AS profile_count,
    coalesce(g.sampled_count, 0) AS sampled_count,
    coalesce(l.log_step_count, 0) AS log_step_count,
    coalesce(b.benchmark_count, 0) AS benchmark_count
FROM (SELECT DISTINCT run_id FROM source_file) AS r
LEFT JOIN traced AS t USING (run_id)
LEFT JOIN captured AS n USING (run_id)
LEFT JOIN told AS f USING (run_id)
LEFT JOIN stepped AS s USING (run_id)
LEFT JOIN profiled AS p USING (run_id)
LEFT JOIN sampled AS g USING (run_id)
LEFT JOIN logged AS l USING (run_id)
LEFT JOIN benchmarked AS b USING (run_id)
ORDER BY r.run_id
