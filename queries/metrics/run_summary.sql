-- Every run of the store: what was ingested for it, and how complete that is.
-- Grain: one row per run_id.
--
-- run_id        Run.
-- start_utc_ns  Earliest start of a capture, ns since 1970 UTC; NULL when unknown.
-- source_count  Files stored.
-- refused_count  Files refused.
-- incomplete_count  Files stored that are not whole.
-- host_count    Hosts that the files name.
-- rank_count    Ranks that the files name.
-- world_size    Ranks of the job, as its environment says; NULL when unknown.
-- device_count  GPUs that traced processes used.
-- warning_count  Warnings about its files.
-- row_count     Rows stored.
WITH file AS (
    SELECT
        run_id,
        min(capture_start_utc_ns) AS start_utc_ns,
        count(*) FILTER (status <> 'refused') AS source_count,
        count(*) FILTER (status = 'refused') AS refused_count,
        count(*) FILTER (status = 'incomplete') AS incomplete_count,
        sum(row_count)::BIGINT AS row_count
    FROM source_file
    GROUP BY run_id
),
traced AS (
    SELECT
        run_id,
        count(DISTINCT (host, gpu_id, CASE WHEN host IS NULL THEN source_id END))
            AS device_count
    FROM traced_device
    GROUP BY run_id
),
peopled AS (
    SELECT run_id, count(DISTINCT host) AS host_count, count(DISTINCT rank) AS rank_count
    FROM (
        SELECT run_id, host, rank FROM process
        UNION ALL
        SELECT run_id, host, rank FROM source_file
    )
    GROUP BY run_id
),
job AS (
    SELECT run_id, max(world_size) AS world_size FROM run GROUP BY run_id
),
warned AS (
    SELECT run_id, count(*) AS warning_count
    FROM ingest_issue
    WHERE severity = 'warning'
    GROUP BY run_id
)
SELECT
    f.run_id,
    f.start_utc_ns,
    f.source_count,
    f.refused_count,
    f.incomplete_count,
    coalesce(p.host_count, 0) AS host_count,
    coalesce(p.rank_count, 0) AS rank_count,
    j.world_size,
    coalesce(t.device_count, 0) AS device_count,
    coalesce(w.warning_count, 0) AS warning_count,
    f.row_count
FROM file AS f
LEFT JOIN traced AS t USING (run_id)
LEFT JOIN peopled AS p USING (run_id)
LEFT JOIN job AS j USING (run_id)
LEFT JOIN warned AS w USING (run_id)
ORDER BY f.run_id
