-- Device memory that processes allocated, from the allocations and releases that a
-- capture recorded: the highest level above that at the capture's begin. An allocator
-- that keeps its memory, like PyTorch's, allocates seldom.
-- Grain: one row per (run_id, host, rank, device_id, process, source_id).
--
-- run_id         Run.
-- host           Host; NULL when the capture does not say.
-- rank           Global rank; NULL when unknown.
-- device_id      CUDA ordinal inside the process.
-- process        Process id.
-- allocation_count  Allocations.
-- release_count  Releases.
-- allocated_bytes  Bytes allocated, all together.
-- peak_bytes     Highest level above the begin's.
-- peak_ns        When, ns since the capture began.
-- growth_bytes   Level at the end above the begin's.
-- source_id      Source file.
WITH levelled AS (
    SELECT
        *,
        CASE operation WHEN 'allocate' THEN bytes ELSE -bytes END AS change_bytes,
        sum(change_bytes) OVER (
            PARTITION BY run_id, source_id, process, device_id
            -- Of one moment, releases first: a level that never was is no peak.
            ORDER BY start_ns, operation DESC, correlation_id, bytes
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS level_bytes
    FROM memory_usage_event
    WHERE operation IN ('allocate', 'free') AND memory LIKE 'device%'
),
summed AS (
    SELECT
        run_id, source_id, process, device_id,
        count(*) FILTER (operation = 'allocate') AS allocation_count,
        count(*) FILTER (operation = 'free') AS release_count,
        coalesce(sum(bytes) FILTER (operation = 'allocate'), 0)::BIGINT
            AS allocated_bytes,
        greatest(0, max(level_bytes))::BIGINT AS peak_bytes,
        arg_max(start_ns, (level_bytes, -start_ns)) AS peak_ns,
        sum(change_bytes)::BIGINT AS growth_bytes
    FROM levelled
    GROUP BY run_id, source_id, process, device_id
)
SELECT
    s.run_id,
    p.host,
    p.rank,
    s.device_id,
    s.process,
    s.allocation_count,
    s.release_count,
    s.allocated_bytes,
    s.peak_bytes,
    s.peak_ns,
    s.growth_bytes,
    s.source_id
FROM summed AS s
LEFT JOIN process AS p USING (run_id, source_id, process)
ORDER BY s.run_id, p.host, p.rank, s.device_id, s.process, s.source_id
