-- Which share of the kernels' time, and of each step, is memory bound, compute bound or
-- latency bound: durations are the job's (nsys), what limits a kernel is from its profile
-- (ncu), joined by name, grid and block. Only of runs in which kernels were profiled.
-- Kernels on several streams count each, so shares of a step may add up to more than 1.
-- Grain: one row per (run_id, host, rank, device_id, process, step, class, source_id).
--
-- run_id        Run.
-- host          Host; NULL when the trace does not say.
-- rank          Global rank; NULL when the trace does not say.
-- device_id     CUDA ordinal inside the process.
-- process       Process id.
-- step          Step that summaries keep; NULL for the whole capture.
-- class         As in kernel_limit: compute bound, memory bound, latency bound, balanced,
--               communication, not classified, not profiled.
-- kernel_count  Executions.
-- total_ns      Sum of durations.
-- kernel_time_share  total / sum of all kernels' durations in the step or capture.
-- step_ns       Length of the step; NULL for the whole capture.
-- step_share    total / step.
-- exact_share   Part of total whose profile has the same name, grid and block; NULL for
--               classes that come from no profile.
-- name_only_share  Part of total whose profile has another grid or block.
-- source_id     Source file.
WITH limited AS MATERIALIZED (
    SELECT
        t.device_key,
        t.step,
        CASE WHEN n.class = 'communication' THEN 'communication'
            WHEN m.match IS NULL THEN 'not profiled'
            ELSE coalesce(m.class, 'not classified') END AS class,
        m.match,
        sum(t.kernel_count) AS kernel_count,
        sum(t.total_ns) AS total_ns
    FROM kernel_shape_time AS t
    JOIN traced_device AS d USING (device_key)
    JOIN classified_kernel_name AS n USING (name_id)
    LEFT JOIN kernel_profile_match AS m
        ON m.run_id = d.run_id
        AND m.name_id = t.name_id
        AND m.gpu_name IS NOT DISTINCT FROM d.gpu_name
        AND m.grid_x IS NOT DISTINCT FROM t.grid_x
        AND m.grid_y IS NOT DISTINCT FROM t.grid_y
        AND m.grid_z IS NOT DISTINCT FROM t.grid_z
        AND m.block_x IS NOT DISTINCT FROM t.block_x
        AND m.block_y IS NOT DISTINCT FROM t.block_y
        AND m.block_z IS NOT DISTINCT FROM t.block_z
    GROUP BY ALL
),
scoped AS (
    SELECT device_key, NULL AS step, NULL AS step_ns, class, match, kernel_count, total_ns
    FROM limited
    UNION ALL
    SELECT
        l.device_key, l.step, s.end_ns - s.begin_ns, l.class, l.match, l.kernel_count,
        l.total_ns
    FROM limited AS l
    JOIN device_step AS s USING (device_key, step)
    WHERE s.exclusion IS NULL
),
added AS (
    SELECT
        device_key,
        step,
        class,
        any_value(step_ns) AS step_ns,
        sum(kernel_count)::BIGINT AS kernel_count,
        sum(total_ns)::BIGINT AS total_ns,
        sum(total_ns) FILTER (match = 'exact') AS exact_ns,
        sum(total_ns) FILTER (match = 'name only') AS name_only_ns,
        bool_or(match IS NOT NULL) AND class <> 'communication' AS is_profiled
    FROM scoped
    GROUP BY device_key, step, class
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    a.step,
    a.class,
    a.kernel_count,
    a.total_ns,
    share_of(a.total_ns, sum(a.total_ns) OVER (PARTITION BY a.device_key, a.step))
        AS kernel_time_share,
    a.step_ns,
    share_of(a.total_ns, a.step_ns) AS step_share,
    CASE WHEN a.is_profiled THEN share_of(coalesce(a.exact_ns, 0), a.total_ns) END
        AS exact_share,
    CASE WHEN a.is_profiled THEN share_of(coalesce(a.name_only_ns, 0), a.total_ns) END
        AS name_only_share,
    d.source_id
FROM added AS a
JOIN traced_device AS d USING (device_key)
ORDER BY
    d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id,
    a.step, a.class
