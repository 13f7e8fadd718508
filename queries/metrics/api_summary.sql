-- CUDA runtime and driver calls by the time the host spent in them.
-- Grain: one row per (run_id, host, rank, process, name, source_id).
--
-- run_id      Run.
-- host        Host; NULL when the trace does not say.
-- rank        Global rank; NULL when the trace does not say.
-- process     Process id.
-- name        Function, without its ABI version.
-- call_count  Calls.
-- error_count  Calls that returned an error code; cudaEventQuery's "not ready" is one.
-- total_ns    Sum of durations; threads count twice where they overlap.
-- min_ns      Shortest.
-- median_ns   Median.
-- p99_ns      99th percentile.
-- max_ns      Longest.
-- source_id   Source file.
WITH summed AS (
    SELECT
        c.run_id, c.source_id, c.process, n.name,
        count(*) AS call_count,
        count(*) FILTER (c.return_code <> 0) AS error_count,
        sum(c.end_ns - c.start_ns)::BIGINT AS total_ns,
        min(c.end_ns - c.start_ns) AS min_ns,
        quantile_cont(c.end_ns - c.start_ns, [0.5, 0.99]) AS quantiles,
        max(c.end_ns - c.start_ns) AS max_ns
    FROM api_call AS c
    JOIN api_name AS n USING (run_id, source_id, name_id)
    GROUP BY c.run_id, c.source_id, c.process, n.name
)
SELECT
    s.run_id,
    p.host,
    p.rank,
    s.process,
    s.name,
    s.call_count,
    s.error_count,
    s.total_ns,
    s.min_ns,
    s.quantiles[1] AS median_ns,
    s.quantiles[2] AS p99_ns,
    s.max_ns,
    s.source_id
FROM summed AS s
LEFT JOIN process AS p USING (run_id, source_id, process)
ORDER BY s.run_id, p.host, p.rank, s.process, s.total_ns DESC, s.name, s.source_id
