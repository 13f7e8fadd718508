-- Kernels by the time they took.
-- Grain: one row per (run_id, host, rank, device_id, process, name, source_id).
--
-- run_id        Run.
-- host          Host; NULL when the trace does not say.
-- rank          Global rank; NULL when the trace does not say.
-- device_id     CUDA ordinal inside the process.
-- process       Process id.
-- name          Demangled name.
-- class         communication, gemm, attention, normalisation, elementwise, ...
-- kernel_count  Executions.
-- total_ns      Sum of durations.
-- kernel_time_share  total / sum of all kernels' durations on the device.
-- min_ns        Shortest.
-- median_ns     Median.
-- p99_ns        99th percentile.
-- max_ns        Longest.
-- mean_ns       Mean.
-- stddev_ns     Standard deviation of the sample; NULL for a single execution.
-- short_name    Base name without templates and arguments.
-- source_id     Source file.
WITH timed AS (
    SELECT
        run_id, source_id, process, device_id, name_id,
        count(*) AS kernel_count,
        sum(end_ns - start_ns)::BIGINT AS total_ns,
        min(end_ns - start_ns) AS min_ns,
        quantile_cont(end_ns - start_ns, [0.5, 0.99]) AS quantiles,
        max(end_ns - start_ns) AS max_ns,
        avg(end_ns - start_ns) AS mean_ns,
        stddev_samp(end_ns - start_ns) AS stddev_ns
    FROM kernel
    GROUP BY run_id, source_id, process, device_id, name_id
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    n.name,
    n.class,
    t.kernel_count,
    t.total_ns,
    share_of(t.total_ns, sum(t.total_ns) OVER (PARTITION BY d.device_key))
        AS kernel_time_share,
    t.min_ns,
    t.quantiles[1] AS median_ns,
    t.quantiles[2] AS p99_ns,
    t.max_ns,
    t.mean_ns,
    t.stddev_ns,
    n.short_name,
    d.source_id
FROM timed AS t
JOIN traced_device AS d USING (run_id, source_id, process, device_id)
JOIN classified_kernel_name AS n USING (name_id)
ORDER BY
    d.run_id, d.host, d.rank, d.device_id, d.process, t.total_ns DESC, n.name,
    d.source_id
