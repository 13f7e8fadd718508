-- Points of collective benchmarks that can be believed, several of one size (per rank, or
-- per type and reduction: bytes do not care) as their median; with the layout and when.
-- Grain: one row per (run_id, source_id, benchmark_id, sweep, is_in_place, size_bytes).
--
-- run_id        Run.
-- source_id     Source file.
-- benchmark_id  Test in its file; see collective_benchmark_run.
-- sweep         Pass over the sizes.
-- operation     Collective, as the job's are called: all_to_all, send_recv, ...
-- rank_count    Ranks; NULL when not known.
-- host_count    Hosts; NULL when the list of ranks is not whole.
-- hosts         Their names, sorted; NULL when not told.
-- gpu           Row of reference table gpu, where all its GPUs are of one; else NULL.
-- gpu_name      Their product name, where all have one.
-- is_in_place   Whether buffers are the same; NULL when nothing says it.
-- size_bytes    Message.
-- row_count     Rows of the log in it.
-- time_ns       Time of one operation.
-- algbw_bytes_per_s  Size / time.
-- busbw_bytes_per_s  As the benchmark prints it.
-- factor        busbw / algbw of the operation on that many ranks.
-- measured_local_ns  When, on the clock that the log or run.toml tells; NULL when not.
WITH placed AS (
    SELECT
        d.run_id, d.source_id, d.benchmark_id,
        list(DISTINCT d.host ORDER BY d.host) FILTER (d.host IS NOT NULL) AS hosts,
        CASE WHEN count(DISTINCT d.name) = 1 THEN min(d.name) END AS gpu_name
    FROM collective_benchmark_device AS d
    GROUP BY d.run_id, d.source_id, d.benchmark_id
),
started AS (
    SELECT
        r.run_id, r.source_id, r.benchmark_id,
        coalesce(
            r.start_local_ns, f.capture_start_utc_ns,
            epoch_ns(TRY_CAST(t.value_text AS TIMESTAMP))
        ) AS measured_local_ns
    FROM collective_benchmark_run AS r
    LEFT JOIN source_file AS f USING (run_id, source_id)
    LEFT JOIN run_fact AS t ON t.run_id = r.run_id AND t.key = 'run.start'
    WHERE NOT r.is_interleaved
        AND coalesce(r.is_out_of_bounds_ok, true)
),
named AS (
    SELECT
        *,
        CASE op
            WHEN 'alltoall' THEN 'all_to_all'
            WHEN 'sendrecv' THEN 'send_recv'
            ELSE op
        END AS operation
    FROM collective_benchmark
    WHERE size_bytes > 0
        AND busbw_bytes_per_s > 0
        AND coalesce(is_consistent, true)
        AND coalesce(wrong_count, 0) = 0
        AND op IS NOT NULL
        AND coalesce(nranks, 2) > 1
)
SELECT
    n.run_id,
    n.source_id,
    n.benchmark_id,
    n.sweep,
    any_value(n.operation) AS operation,
    max(n.nranks) AS rank_count,
    max(n.nnodes) AS host_count,
    any_value(p.hosts) AS hosts,
    any_value(m.gpu) AS gpu,
    any_value(p.gpu_name) AS gpu_name,
    n.is_in_place,
    n.size_bytes,
    count(*) AS row_count,
    median(n.time_ns) AS time_ns,
    median(n.algbw_bytes_per_s) AS algbw_bytes_per_s,
    median(n.busbw_bytes_per_s) AS busbw_bytes_per_s,
    CASE
        WHEN any_value(n.operation) = 'all_reduce'
            THEN 2 * (max(n.nranks) - 1) / max(n.nranks)
        WHEN any_value(n.operation) IN (
            'all_gather', 'reduce_scatter', 'all_to_all', 'gather', 'scatter'
        ) THEN (max(n.nranks) - 1) / max(n.nranks)
        ELSE 1
    END::DOUBLE AS factor,
    coalesce(min(n.at_local_ns), any_value(s.measured_local_ns)) AS measured_local_ns
FROM named AS n
JOIN started AS s USING (run_id, source_id, benchmark_id)
LEFT JOIN placed AS p USING (run_id, source_id, benchmark_id)
LEFT JOIN gpu_name AS m ON m.gpu_name = p.gpu_name
GROUP BY n.run_id, n.source_id, n.benchmark_id, n.sweep, n.is_in_place, n.size_bytes
