-- NVTX ranges by name: time on the host, and time on the GPU of the work launched inside.
-- Grain: one row per (run_id, host, rank, process, domain, name, kind, source_id).
--
-- run_id        Run.
-- host          Host; NULL when the trace does not say.
-- rank          Global rank; NULL when the trace does not say.
-- process       Process id.
-- domain        Domain's name; NULL for the default domain.
-- name          Text given by the program.
-- kind          push_pop, start_end or mark.
-- range_count   Closed ranges, or marks.
-- open_count    Ranges that were never closed; they have no duration.
-- total_ns      Sum of durations on the host; nested ranges count in each.
-- min_ns        Shortest.
-- median_ns     Median.
-- max_ns        Longest.
-- projected_count  Ranges inside which any GPU work was launched.
-- work_count    GPU activities launched inside them.
-- projected_ns  Sum over ranges of first start to last end of that work.
-- any_thread_work_count  GPU activities launched while one was open, by any thread of the
--               process; see projected_range. Differs from work_count where autograd has
--               threads of its own.
-- any_thread_projected_ns  Sum over ranges of first start to last end of that work.
-- source_id     Source file.
WITH closed AS (
    SELECT
        run_id, source_id, process, domain, name, kind,
        count(*) AS range_count,
        sum(end_ns - start_ns)::BIGINT AS total_ns,
        min(end_ns - start_ns) AS min_ns,
        median(end_ns - start_ns) AS median_ns,
        max(end_ns - start_ns) AS max_ns,
        count(*) FILTER (work_count > 0) AS projected_count,
        sum(work_count)::BIGINT AS work_count,
        coalesce(sum(gpu_end_ns - gpu_start_ns), 0)::BIGINT AS projected_ns,
        sum(any_thread_work_count)::BIGINT AS any_thread_work_count,
        coalesce(sum(any_thread_gpu_end_ns - any_thread_gpu_start_ns), 0)::BIGINT
            AS any_thread_projected_ns
    FROM projected_range
    GROUP BY run_id, source_id, process, domain, name, kind
),
other AS (
    SELECT
        run_id, source_id, process, domain, name, kind,
        count(*) FILTER (kind = 'mark') AS mark_count,
        count(*) FILTER (kind <> 'mark') AS open_count
    FROM named_nvtx_range
    WHERE end_ns IS NULL
    GROUP BY run_id, source_id, process, domain, name, kind
),
named AS (
    SELECT run_id, source_id, process, domain, name, kind FROM closed
    UNION
    SELECT run_id, source_id, process, domain, name, kind FROM other
)
SELECT
    n.run_id,
    p.host,
    p.rank,
    n.process,
    n.domain,
    n.name,
    n.kind,
    coalesce(c.range_count, 0) + coalesce(o.mark_count, 0) AS range_count,
    coalesce(o.open_count, 0) AS open_count,
    coalesce(c.total_ns, 0) AS total_ns,
    c.min_ns,
    c.median_ns,
    c.max_ns,
    coalesce(c.projected_count, 0) AS projected_count,
    coalesce(c.work_count, 0) AS work_count,
    coalesce(c.projected_ns, 0) AS projected_ns,
    coalesce(c.any_thread_work_count, 0) AS any_thread_work_count,
    coalesce(c.any_thread_projected_ns, 0) AS any_thread_projected_ns,
    n.source_id
FROM named AS n
LEFT JOIN closed AS c
    ON (c.run_id, c.source_id, c.kind) = (n.run_id, n.source_id, n.kind)
    AND c.process IS NOT DISTINCT FROM n.process
    AND c.domain IS NOT DISTINCT FROM n.domain
    AND c.name IS NOT DISTINCT FROM n.name
LEFT JOIN other AS o
    ON (o.run_id, o.source_id, o.kind) = (n.run_id, n.source_id, n.kind)
    AND o.process IS NOT DISTINCT FROM n.process
    AND o.domain IS NOT DISTINCT FROM n.domain
    AND o.name IS NOT DISTINCT FROM n.name
LEFT JOIN process AS p
    ON p.run_id = n.run_id AND p.source_id = n.source_id AND p.process = n.process
ORDER BY
    n.run_id, p.host, p.rank, n.process, total_ns DESC, n.domain, n.name, n.kind,
    n.source_id
