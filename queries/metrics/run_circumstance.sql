-- Under which circumstances a run's numbers came about: what must agree for two runs to
-- be compared, what may have changed between them, and how complete the run is.
-- Grain: one row per (run_id, kind, key, value_text).
--
-- run_id      Run.
-- kind        condition: must agree. suspect: a version, a host or the like; where it
--             differs it may be why numbers do. state: what there is of the run.
-- key         Key of run_fact, or host, start_utc_ns, rank_count and the like.
-- value_text  Value; several rows where a run has several hosts.
WITH fact AS MATERIALIZED (FROM run_fact),
known AS (
    SELECT run_id, 'condition' AS kind, key, value_text
    FROM fact
    WHERE key IN (
            'hardware.gpu', 'hardware.gpu_count', 'training.global_batch_size',
            'training.micro_batch_size', 'training.gradient_accumulation'
        )
        OR key LIKE 'model.%'
        OR key LIKE 'parallelism.%'
    UNION ALL
    SELECT run_id, 'suspect', key, value_text
    FROM fact
    WHERE key LIKE 'versions.%'
        OR key IN (
            'hardware.interconnect', 'hardware.link', 'training.precision',
            'training.optimizer', 'training.recomputation', 'training.flash_attention'
        )
    UNION ALL
    SELECT run_id, 'state', key, value_text
    FROM fact
    WHERE key IN ('run.series', 'run.start', 'run.name', 'parallelism.world_size')
),
named_host AS (
    SELECT run_id, host FROM process
    UNION
    SELECT run_id, host FROM source_file
    UNION
    SELECT run_id, host FROM training_step
    UNION
    SELECT run_id, host FROM host_placement
),
captured AS (
    SELECT
        run_id,
        min(capture_start_utc_ns) AS start_utc_ns,
        min(capture_start_local_ns) AS start_local_ns,
        count(*) FILTER (status <> 'refused') AS source_count,
        count(*) FILTER (status = 'refused') AS refused_count,
        count(*) FILTER (status = 'incomplete') AS incomplete_count,
        count(*) FILTER (format LIKE '%nsys%') AS capture_count
    FROM source_file
    GROUP BY run_id
),
counted AS (
    SELECT
        s.run_id,
        s.start_utc_ns,
        s.start_local_ns,
        s.source_count,
        s.refused_count,
        s.incomplete_count,
        s.capture_count,
        (SELECT count(DISTINCT p.rank) FROM process AS p WHERE p.run_id = s.run_id)
            AS rank_count,
        (SELECT count(*) FROM kernel AS k WHERE k.run_id = s.run_id) AS kernel_count,
        (
            SELECT count(*) FROM graph_launch AS g WHERE g.run_id = s.run_id
        ) AS graph_launch_count
    FROM captured AS s
),
stepped AS (
    SELECT
        d.run_id,
        count(DISTINCT s.device_key) AS device_count,
        count(DISTINCT s.step) FILTER (s.exclusion IS NULL) AS step_count,
        count(DISTINCT s.step) FILTER (s.exclusion = 'warm-up') AS warm_up_step_count
    FROM device_step AS s
    JOIN traced_device AS d USING (device_key)
    GROUP BY d.run_id
),
logged AS (
    SELECT run_id, count(*) AS logged_step_count
    FROM training_step
    WHERE kind = 'step'
    GROUP BY run_id
),
state AS (
    SELECT
        c.*,
        s.device_count,
        s.step_count,
        s.warm_up_step_count,
        l.logged_step_count
    FROM counted AS c
    LEFT JOIN stepped AS s USING (run_id)
    LEFT JOIN logged AS l USING (run_id)
),
listed AS (
    UNPIVOT state
    ON COLUMNS(* EXCLUDE (run_id))
    INTO NAME key VALUE value
)
SELECT run_id, kind, key, value_text FROM known
UNION ALL
SELECT run_id, 'suspect', 'host', host FROM named_host WHERE host IS NOT NULL
UNION ALL
SELECT run_id, 'state', key, value::VARCHAR FROM listed
ORDER BY run_id, kind, key, value_text
