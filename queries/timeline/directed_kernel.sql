-- Compute kernels of each step, and whether they were launched in the backward pass: in
-- an NVTX range named so (autograd's ranges too); in a process without any, by another
-- thread than the step's first kernel (autograd's); else from the first to the last
-- kernel of the step whose name says backward.
-- Grain: one row per compute kernel with a recorded launch.
--
-- device_key   See traced_device.
-- step         Step in which it was launched.
-- start_ns     ns since the capture began.
-- dur_ns       Duration.
-- stream_id    CUDA stream.
-- shape        Stands for name, grid and block.
-- is_forward_name  Whether its name says forward.
-- is_backward_name  Whether its name says backward.
-- is_backward  Whether it is launched in the backward pass; NULL when nothing tells.
-- evidence     What tells: range, thread, name; else NULL.
WITH bound AS MATERIALIZED (FROM step_bound WHERE is_host),
directed_name AS MATERIALIZED (
    SELECT
        name_id,
        class <> 'communication' AS is_compute,
        regexp_matches(lower(name), 'bwd|backward|dgrad|wgrad') AS is_backward,
        regexp_matches(lower(name), 'fwd|forward') AND NOT is_backward AS is_forward
    FROM classified_kernel_name
),
-- Ranges of a process side by side or in each other, as one running end.
backward_name AS MATERIALIZED (
    SELECT DISTINCT run_id, source_id, name
    FROM named_nvtx_range
    WHERE kind <> 'mark'
        AND regexp_matches(lower(name), 'backward|(^|[^a-z])bwd([^a-z]|$)')
        -- One range around both says nothing.
        AND NOT regexp_matches(lower(name), 'forward|fwd')
),
backward_range AS MATERIALIZED (
    SELECT run_id, source_id, process, start_ns, max(covered_until) AS covered_until
    FROM (
        SELECT r.run_id, r.source_id, r.process, r.start_ns, max(r.end_ns) OVER (
            PARTITION BY r.run_id, r.source_id, r.process ORDER BY r.start_ns
            ROWS UNBOUNDED PRECEDING
        ) AS covered_until
        FROM named_nvtx_range AS r
        SEMI JOIN backward_name AS n USING (run_id, source_id, name)
        WHERE r.end_ns IS NOT NULL
    )
    GROUP BY run_id, source_id, process, start_ns
),
ranged_process AS (
    SELECT DISTINCT run_id, source_id, process FROM backward_range
),
-- A file may hold a call twice.
launch AS (
    SELECT
        run_id, source_id, process, correlation_id,
        min(start_ns) AS start_ns, arg_min(thread, (start_ns, thread)) AS thread
    FROM api_call
    WHERE correlation_id IS NOT NULL
    GROUP BY run_id, source_id, process, correlation_id
),
launched AS (
    SELECT
        d.device_key, b.step, k.start_ns, k.end_ns - k.start_ns AS dur_ns, k.stream_id,
        hash(k.name_id, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z)
            AS shape,
        n.is_forward, n.is_backward, c.thread,
        p.process IS NOT NULL AS has_ranges,
        coalesce(c.start_ns < r.covered_until, false) AS is_in_range
    FROM kernel AS k
    JOIN directed_name AS n USING (name_id)
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    JOIN launch AS c USING (run_id, source_id, process, correlation_id)
    ASOF JOIN bound AS b
        ON b.device_key = d.device_key AND c.start_ns >= b.from_ns
    LEFT JOIN ranged_process AS p
        ON p.run_id = k.run_id
        AND p.source_id = k.source_id
        AND p.process = k.process
    ASOF LEFT JOIN backward_range AS r
        ON r.run_id = k.run_id
        AND r.source_id = k.source_id
        AND r.process = k.process
        AND c.start_ns >= r.start_ns
    WHERE n.is_compute AND c.start_ns < b.until_ns
),
per_step AS (
    SELECT
        device_key, step,
        arg_min(thread, (start_ns, thread)) AS first_thread,
        count(DISTINCT thread) > 1 AS has_threads,
        min(start_ns) FILTER (is_backward) AS first_ns,
        max(start_ns) FILTER (is_backward) AS last_ns
    FROM launched
    GROUP BY device_key, step
)
SELECT
    l.device_key,
    l.step,
    l.start_ns,
    l.dur_ns,
    l.stream_id,
    l.shape,
    l.is_forward AS is_forward_name,
    l.is_backward AS is_backward_name,
    CASE
        WHEN l.has_ranges THEN l.is_in_range
        WHEN s.has_threads THEN l.thread <> s.first_thread
        WHEN s.first_ns IS NOT NULL THEN l.start_ns BETWEEN s.first_ns AND s.last_ns
    END AS is_backward,
    CASE
        WHEN l.has_ranges THEN 'range'
        WHEN s.has_threads THEN 'thread'
        WHEN s.first_ns IS NOT NULL THEN 'name'
    END AS evidence
FROM launched AS l
JOIN per_step AS s USING (device_key, step)
