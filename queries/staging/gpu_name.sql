-- Each product name that any file gives a GPU, with the one row of reference table gpu
-- that it is the name of, or none: a name that leaves the form factor open is unknown.
-- Grain: one row per (gpu_name).
--
-- gpu_name  Product name as found, e.g. NVIDIA H100 80GB HBM3.
-- gpu       Row of gpu; NULL when none or more than one has this name.
-- reason    Why there is none; else NULL.
WITH named AS (
    SELECT name AS gpu_name FROM device
    UNION
    SELECT gpu_name FROM profiler_session
    UNION
    SELECT text FROM kernel_metric WHERE metric = 'device__attribute_display_name'
    UNION
    SELECT name FROM collective_benchmark_device
    UNION
    SELECT value_text FROM run_fact WHERE key = 'hardware.gpu'
)
SELECT
    n.gpu_name,
    CASE WHEN count(g.gpu) = 1 THEN min(g.gpu) END AS gpu,
    CASE
        WHEN count(g.gpu) = 0 AND n.gpu_name LIKE '% MIG %'
            THEN 'a MIG instance has a part of its GPU, and no row in gpu.csv'
        WHEN count(g.gpu) = 0 THEN 'no GPU of gpu.csv has exactly this name'
        WHEN count(g.gpu) > 1 THEN 'several GPUs of gpu.csv have this name'
    END AS reason
FROM named AS n
LEFT JOIN gpu AS g ON n.gpu_name LIKE g.pattern OR lower(n.gpu_name) = lower(g.gpu)
WHERE n.gpu_name IS NOT NULL
GROUP BY n.gpu_name
