-- GPUs with fewer active NVLinks than others of the same product in the run, as
-- nvidia-smi nvlink -s lists them. A topology without one GPU's list says nothing of it.
-- Grain: one row per GPU of a file.
--
-- run_id      Run.
-- source_id   Source file.
-- host        Host; NULL when nothing says it.
-- gpu_id      Physical GPU.
-- device_id   Index on the host, as the list numbers it.
-- link_count  Active links.
-- best_count  Most active links of a GPU of the product.
WITH counted AS (
    SELECT
        l.run_id, l.source_id, l.host, coalesce(l.gpu_id, l.source) AS gpu_id,
        TRY_CAST(regexp_extract(l.source, '\d+$') AS INTEGER) AS device_id,
        l.product,
        count(*) FILTER (l.status = 'active') AS link_count,
        bool_or(l.status IN ('mig', 'unsupported')) AS is_untold
    FROM link AS l
    WHERE l.origin = 'nvlink'
    GROUP BY ALL
),
best AS (
    SELECT
        *,
        max(link_count) OVER (PARTITION BY run_id, product) AS best_count
    FROM counted
    WHERE NOT is_untold
)
SELECT run_id, source_id, host, gpu_id, device_id, link_count, best_count
FROM best
WHERE link_count < best_count
