-- Communication kernels by operation. A duration is waiting for the last rank plus
-- transfer: the longest often belongs to a healthy rank.
-- Grain: one row per (run_id, host, rank, device_id, process, operation,
--   source_id).
--
-- run_id        Run.
-- host          Host; NULL when the trace does not say.
-- rank          Global rank; NULL when the trace does not say.
-- device_id     CUDA ordinal inside the process.
-- process       Process id.
-- operation     all_reduce, all_gather, reduce_scatter, ... by the kernel's name; unknown
--               when the name does not tell.
-- kernel_count  Kernels. Fused groups run as one: 132 sends and receives may be 66
--               kernels.
-- total_ns      Sum of durations.
-- min_ns        Shortest.
-- median_ns     Median.
-- p99_ns        99th percentile.
-- max_ns        Longest.
-- source_id     Source file.
WITH timed AS (
    SELECT
        k.run_id, k.source_id, k.process, k.device_id,
        coalesce(n.operation, 'unknown') AS operation,
        k.end_ns - k.start_ns AS dur_ns
    FROM kernel AS k
    JOIN classified_kernel_name AS n USING (name_id)
    WHERE n.class = 'communication'
),
summed AS (
    SELECT
        run_id, source_id, process, device_id, operation,
        count(*) AS kernel_count,
        sum(dur_ns)::BIGINT AS total_ns,
        min(dur_ns) AS min_ns,
        quantile_cont(dur_ns, [0.5, 0.99]) AS quantiles,
        max(dur_ns) AS max_ns
    FROM timed
    GROUP BY run_id, source_id, process, device_id, operation
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    s.operation,
    s.kernel_count,
    s.total_ns,
    s.min_ns,
    s.quantiles[1] AS median_ns,
    s.quantiles[2] AS p99_ns,
    s.max_ns,
    d.source_id
FROM summed AS s
JOIN traced_device AS d USING (run_id, source_id, process, device_id)
ORDER BY
    d.run_id, d.host, d.rank, d.device_id, d.process, s.total_ns DESC, s.operation,
    d.source_id
