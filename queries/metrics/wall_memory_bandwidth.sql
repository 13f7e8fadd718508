-- What a run loses to kernels that memory limits: without that limit they would take the
-- time of their next one, compute.
-- Grain: one row per run_id.
--
-- run_id       Run.
-- wall         memory bandwidth.
-- subject      NULL: the whole job.
-- cost_ns      Saved per step.
-- cost_share   cost / basis; NULL when unknown.
-- bound_share  Where the cost is unknown, at most this; NULL when nothing limits it.
-- is_evident   Whether it is a wall whatever it costs.
-- basis        What shares are of: step, or span where no steps are known.
-- evidence_view  View that shows it.
-- evidence     Condition on its rows; NULL for all of the run.
-- reason       Why the cost is unknown; else NULL.
-- need         What to collect to know it; see reference table collect.
WITH profiled AS (
    -- Of a kernel that memory limits, the part that compute does not need.
    SELECT
        run_id, name,
        avg(1 - least(compute_share / nullif(memory_share, 0), 1)) AS freed_share
    FROM speed_of_light
    WHERE class = 'memory bound'
    GROUP BY run_id, name
),
limited AS (
    SELECT
        k.run_id, k.source_id, k.process, k.device_id,
        coalesce(sum(k.total_ns * coalesce(p.freed_share, a.freed_share)) FILTER (
            k.class = 'memory bound'
        ), 0) / nullif(sum(k.total_ns) FILTER (k.class <> 'communication'), 0)
            AS freed_share,
        coalesce(sum(k.total_ns) FILTER (
            k.class IN ('not profiled', 'not classified')
        ), 0) / nullif(sum(k.total_ns) FILTER (k.class <> 'communication'), 0)
            AS unknown_share
    FROM kernel_limit AS k
    LEFT JOIN profiled AS p USING (run_id, name)
    LEFT JOIN (
        SELECT run_id, avg(freed_share) AS freed_share FROM profiled GROUP BY run_id
    ) AS a ON a.run_id = k.run_id
    GROUP BY k.run_id, k.source_id, k.process, k.device_id
),
-- Counters of telemetry: memory busy and tensor cores not.
sampled AS (
    SELECT
        run_id,
        median(median_value) FILTER (metric = 'dram_active_share') AS dram_share,
        median(median_value) FILTER (metric = 'tensor_active_share') AS tensor_share
    FROM gpu_utilisation
    WHERE is_primary
    GROUP BY run_id
),
-- Kernels of kinds that move much and compute little, and those of kinds not known.
classed AS (
    SELECT
        run_id, source_id, process, device_id,
        coalesce(sum(total_ns) FILTER (class NOT IN ('gemm', 'attention')), 0)
            AS streaming_ns,
        sum(total_ns) AS total_ns
    FROM top_kernel
    WHERE class <> 'communication'
    GROUP BY run_id, source_id, process, device_id
),
device AS (
    SELECT
        t.run_id,
        avg(share_of(t.compute_ns, t.span_ns)) AS compute_share,
        avg(l.freed_share) AS freed_share,
        max(l.unknown_share) AS unknown_share,
        -- Of graphs traced whole no kernel is known.
        max((coalesce(c.streaming_ns, 0) + coalesce(t.graph_ns, 0))
            / nullif(coalesce(c.total_ns, 0) + coalesce(t.graph_ns, 0), 0))
            AS streaming_share
    FROM nccl_time_share AS t
    LEFT JOIN limited AS l USING (run_id, source_id, process, device_id)
    LEFT JOIN classed AS c USING (run_id, source_id, process, device_id)
    GROUP BY t.run_id
),
stepped AS (
    SELECT
        run_id,
        avg(step_ns) AS step_ns,
        avg(share_of(compute_ns, step_ns)) AS compute_share
    FROM step_time
    WHERE exclusion IS NULL AND compute_ns IS NOT NULL
    GROUP BY run_id
),
joined AS (
    SELECT
        e.run_id,
        e.step_count,
        s.step_ns,
        coalesce(s.compute_share, d.compute_share) AS compute_share,
        d.streaming_share,
        d.unknown_share,
        -- Profiles first: they say it kernel by kernel.
        CASE
            WHEN d.freed_share IS NOT NULL
                AND d.unknown_share < threshold_of('unprofiled_share') THEN d.freed_share
            WHEN t.dram_share >= threshold_of('dram_busy_share')
                AND t.tensor_share IS NOT NULL
                THEN 1 - least(1, t.tensor_share / t.dram_share)
            WHEN t.dram_share IS NOT NULL THEN 0
        END AS freed_share,
        d.freed_share IS NOT NULL
            AND d.unknown_share < threshold_of('unprofiled_share') AS is_profiled,
        t.dram_share IS NOT NULL AS is_sampled,
        k.run_id IS NOT NULL AND d.run_id IS NULL AS is_unweighted
    FROM run_evidence AS e
    LEFT JOIN device AS d USING (run_id)
    LEFT JOIN stepped AS s USING (run_id)
    LEFT JOIN sampled AS t USING (run_id)
    LEFT JOIN (SELECT DISTINCT run_id FROM profiled_kernel) AS k USING (run_id)
)
SELECT
    run_id,
    'memory bandwidth' AS wall,
    NULL::VARCHAR AS subject,
    CASE WHEN step_count > 0 THEN freed_share * compute_share * step_ns END AS cost_ns,
    freed_share * coalesce(compute_share, 1) AS cost_share,
    streaming_share * compute_share AS bound_share,
    false AS is_evident,
    CASE WHEN step_count > 0 THEN 'step' ELSE 'span' END AS basis,
    CASE WHEN is_profiled THEN 'kernel_limit' WHEN is_sampled THEN 'gpu_utilisation'
        WHEN is_unweighted THEN 'speed_of_light'
        ELSE 'top_kernel' END AS evidence_view,
    CASE WHEN is_profiled THEN 'class = ''memory bound'''
        WHEN is_sampled THEN 'metric IN (''dram_active_share'', ''tensor_active_share'')'
        END AS evidence,
    CASE
        WHEN freed_share IS NOT NULL THEN NULL
        WHEN unknown_share IS NOT NULL
            THEN 'too few of the kernels were profiled, and no DRAM counter'
        WHEN is_unweighted
            THEN 'kernels were profiled, but no Nsight Systems capture tells how much of '
                || 'the time they take'
        ELSE 'no Nsight Compute profile and no DRAM counter'
    END AS reason,
    CASE WHEN freed_share IS NOT NULL THEN NULL
        WHEN is_unweighted THEN 'nsys' ELSE 'ncu' END AS need
FROM joined
ORDER BY run_id
