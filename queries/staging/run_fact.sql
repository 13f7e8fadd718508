-- What is known of a run: its model, parallelism, hardware, versions. run.toml counts
-- first, then training logs, then the traces' environment, then what traces show. Of
-- several run.toml the one nearest the top of the run's folder counts.
-- Grain: one row per (run_id, key).
--
-- run_id        Run.
-- key           Section and key of run.toml, e.g. model.layers.
-- value_text    Value as text.
-- value_number  Value as a number; NULL where it is none.
-- source        run.toml, training log, nsys environment, trace, or the format of the
--               file that says it.
-- source_id     Source file.
-- other_values  What other sources say instead, each with its source; NULL when all
--               agree.
WITH described AS (
    SELECT
        d.run_id, d.source_id, d.key, d.value_text, d.value_number,
        'run.toml' AS source,
        1 AS priority,
        length(f.path) - length(replace(f.path, '/', '')) AS depth,
        f.path
    FROM run_description AS d
    LEFT JOIN source_file AS f USING (run_id, source_id)
),
argued AS (
    SELECT
        a.run_id, a.source_id, k.key,
        trim(a.value) AS value_text,
        TRY_CAST(a.value AS DOUBLE) AS value_number,
        'training log' AS source,
        2 AS priority,
        0 AS depth,
        NULL AS path
    FROM job_argument AS a
    JOIN fact_key AS k ON k.origin = 'training log' AND k.name = lower(a.name)
    WHERE lower(trim(a.value)) NOT IN ('', 'none', 'null', 'nan')
),
of_environment AS (
    SELECT run_id, source_id, 'parallelism.world_size' AS key, world_size AS value
    FROM run
    UNION ALL
    SELECT run_id, source_id, 'hardware.host_count', node_count
    FROM run
),
of_setting AS (
    SELECT
        s.run_id, s.source_id, k.key,
        trim(s.value) AS value_text,
        NULL AS value_number
    FROM setting AS s
    JOIN fact_key AS k ON k.origin = 'setting' AND k.name = s.name
    WHERE trim(s.value) <> ''
),
told AS (
    SELECT
        e.run_id, e.source_id, e.key, e.value_text, e.value_number,
        CASE WHEN f.format IS NULL OR f.format LIKE 'nsys%' THEN 'nsys environment'
             ELSE f.format END AS source,
        3 AS priority,
        0 AS depth,
        f.path
    FROM (
        SELECT run_id, source_id, key, value::VARCHAR AS value_text, value AS value_number
        FROM of_environment
        WHERE value > 0
        UNION ALL
        SELECT run_id, source_id, key, value_text, value_number FROM of_setting
    ) AS e
    LEFT JOIN source_file AS f USING (run_id, source_id)
),
-- The GPUs that traces show; as long as ranks are missing they are not all of the job's.
traced AS (
    SELECT
        t.run_id,
        min(t.source_id) AS source_id,
        CASE WHEN count(DISTINCT t.gpu_name) = 1 THEN min(t.gpu_name) END AS gpu,
        count(DISTINCT (t.host, t.gpu_id, CASE WHEN t.host IS NULL THEN t.source_id END))
            AS gpu_count
    FROM traced_device AS t
    GROUP BY t.run_id
),
shown AS (
    SELECT
        run_id, source_id, 'hardware.gpu' AS key, gpu AS value_text,
        NULL AS value_number
    FROM traced
    WHERE gpu IS NOT NULL
    UNION ALL
    SELECT
        t.run_id, t.source_id, 'hardware.gpu_count', t.gpu_count::VARCHAR,
        t.gpu_count
    FROM traced AS t
    WHERE
        t.gpu_count = (SELECT max(r.world_size) FROM run AS r WHERE r.run_id = t.run_id)
),
every_fact AS (
    SELECT * FROM described
    UNION ALL
    SELECT * FROM argued
    UNION ALL
    SELECT * FROM told
    UNION ALL
    SELECT *, 'trace' AS source, 4 AS priority, 0 AS depth, NULL AS path FROM shown
),
ranked AS (
    SELECT
        *,
        coalesce(value_number::VARCHAR, lower(value_text)) AS compared,
        row_number() OVER (
            PARTITION BY run_id, key
            ORDER BY priority, depth, path, source_id, value_text
        ) AS place
    FROM every_fact
)
SELECT
    w.run_id,
    w.key,
    w.value_text,
    w.value_number,
    w.source,
    w.source_id,
    string_agg(DISTINCT o.source || ': ' || o.value_text, '; '
        ORDER BY o.source || ': ' || o.value_text) AS other_values
FROM ranked AS w
LEFT JOIN ranked AS o
    ON o.run_id = w.run_id
    AND o.key = w.key
    AND o.compared <> w.compared
WHERE w.place = 1
GROUP BY ALL
