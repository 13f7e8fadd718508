-- GPUs are split by MIG: the job has a slice, and its peaks are the slice's.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Compare with the slice's SMs, memory and bandwidth, not the data sheet's; several
--   small jobs fill a GPU well that way, a job over several GPUs does not: instances
--   have no NVLink between them.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        The product, or the GPU whose telemetry says so.
-- detail         How much of the GPU a slice is.
-- value          SMs of the slice / SMs of the GPU; NULL when unknown.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH seen AS (
    SELECT
        run_id,
        gpu_name,
        regexp_replace(gpu_name, ' MIG .*', '') AS product,
        max(traced_sm_count) AS sm_count
    FROM device_reference
    WHERE gpu_name LIKE '% MIG %' AND (process IS NOT NULL OR origin = 'ncu')
    GROUP BY run_id, gpu_name
),
whole AS (
    SELECT s.run_id, s.gpu_name, max(g.sm_count) AS sm_count
    FROM seen AS s
    JOIN gpu AS g ON s.product LIKE g.pattern OR lower(s.product) = lower(g.gpu)
    GROUP BY s.run_id, s.gpu_name
    HAVING count(DISTINCT g.sm_count) = 1
),
traced AS (
    SELECT run_id, gpu_name, count(*) AS slice_count
    FROM traced_device
    GROUP BY run_id, gpu_name
),
slice AS (
    SELECT
        s.run_id,
        -- Instances cannot copy peer to peer: NCCL goes through the host.
        CASE WHEN t.slice_count > 1 THEN 'warning' ELSE 'info' END AS severity,
        s.gpu_name AS subject,
        concat_ws(
            '; ',
            t.slice_count || ' traced',
            s.sm_count || coalesce(' of ' || w.sm_count, '') || ' SMs each'
        ) AS detail,
        s.sm_count / w.sm_count AS value,
        'device_reference' AS evidence_view,
        'gpu_name = ''' || replace(s.gpu_name, '''', '''''') || '''' AS evidence
    FROM seen AS s
    LEFT JOIN whole AS w USING (run_id, gpu_name)
    LEFT JOIN traced AS t USING (run_id, gpu_name)
),
switched AS (
    SELECT
        run_id,
        'info' AS severity,
        'MIG mode' AS subject,
        concat(
            'on for ', count(DISTINCT (host, gpu_id)), ' sampled GPUs; counters of a '
            'whole GPU add up the jobs of all its instances'
        ) AS detail,
        NULL::DOUBLE AS value,
        'gpu_reading' AS evidence_view,
        'metric = ''mig_mode'' AND value = 1' AS evidence
    FROM gpu_reading
    WHERE metric = 'mig_mode' AND value = 1
    GROUP BY run_id
),
found AS (
    FROM slice
    UNION ALL
    FROM switched
)
SELECT
    run_id,
    severity,
    NULL::VARCHAR AS wall,
    subject,
    detail,
    value,
    NULL::DOUBLE AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    evidence_view,
    evidence
FROM found
