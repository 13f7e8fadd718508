-- Which GPU a kernel was profiled on, and its row of the reference table. A name that
-- matches none, or a count of SMs that is not the product's (a MIG instance), stays
-- unknown.
-- Grain: one row per (run_id, source_id, kernel_id).
--
-- run_id      Run.
-- source_id   Source file.
-- kernel_id   Kernel within it.
-- gpu_name    Product name: the profile's, else that of the run's session pages, else
--             hardware.gpu of run_fact; NULL when nothing says it.
-- origin      Where the name is from: profile, session page or run_fact.
-- compute_capability  As printed, else of the device's attributes, else the product's.
-- sm_count    Multiprocessors: as the profile says, else the product's.
-- gpu         Row of reference table gpu; NULL for an unknown product.
WITH session AS (
    SELECT run_id, any_value(gpu_name) AS gpu_name
    FROM profiler_session
    GROUP BY run_id
    HAVING count(DISTINCT gpu_name) = 1
),
named AS (
    SELECT
        k.run_id,
        k.source_id,
        k.kernel_id,
        coalesce(m.gpu_name, s.gpu_name, f.value_text) AS gpu_name,
        CASE WHEN m.gpu_name IS NOT NULL THEN 'profile'
            WHEN s.gpu_name IS NOT NULL THEN 'session page'
            WHEN f.value_text IS NOT NULL THEN 'run_fact' END AS origin,
        coalesce(
            TRY_CAST(k.compute_capability AS DOUBLE),
            m.metric['device__attribute_compute_capability_major']
            + m.metric['device__attribute_compute_capability_minor'] / 10
        ) AS compute_capability,
        coalesce(
            m.metric['device__attribute_multiprocessor_count'],
            m.metric['launch__sm_count']
        )::BIGINT AS sm_count
    FROM kernel_profile AS k
    LEFT JOIN profiled_metric AS m USING (run_id, source_id, kernel_id)
    LEFT JOIN session AS s USING (run_id)
    LEFT JOIN run_fact AS f ON f.run_id = k.run_id AND f.key = 'hardware.gpu'
),
product AS (
    SELECT n.gpu_name, any_value(g.gpu) AS gpu
    FROM (SELECT DISTINCT gpu_name FROM named) AS n
    JOIN gpu AS g ON n.gpu_name LIKE g.pattern
    WHERE n.gpu_name NOT LIKE '% MIG %'
    GROUP BY n.gpu_name
    HAVING count(*) = 1
)
SELECT
    n.run_id,
    n.source_id,
    n.kernel_id,
    n.gpu_name,
    n.origin,
    coalesce(n.compute_capability, g.compute_capability) AS compute_capability,
    coalesce(n.sm_count, g.sm_count) AS sm_count,
    g.gpu
FROM named AS n
LEFT JOIN product AS p USING (gpu_name)
LEFT JOIN gpu AS g
    ON g.gpu = p.gpu
    AND coalesce(n.compute_capability = g.compute_capability, true)
    AND coalesce(n.sm_count = g.sm_count, true)
