-- Whether communication can run beside compute, and what compute pays for it:
-- communication on a stream that also computes cannot overlap that stream's compute;
-- compute beside communication may run slower than the same work alone. The same work is
-- the same place in the step: the k-th kernel of that name, grid and block, beside
-- communication in some steps and alone in others.
-- Grain: one row per (run_id, host, rank, device_id, process, source_id).
--
-- run_id              Run.
-- host                Host; NULL when the trace does not say.
-- rank                Global rank; NULL when the trace does not say.
-- device_id           CUDA ordinal inside the process.
-- process             Process id.
-- nccl_count          Communication kernels.
-- nccl_sum_ns         Sum of their durations.
-- shared_stream_count  Of these, on a stream on which compute kernels run too.
-- shared_stream_share  Their share of nccl_sum.
-- structure           What that means for overlap.
-- beside_count        Compute kernels that run beside communication and whose place is at
--                     least 2 times alone in other steps.
-- beside_ns           Sum of their durations.
-- alone_ns            What they would take at the mean of the same places alone.
-- slowdown            beside / alone; NULL without such kernels.
-- reason              Why there is no slowdown; else NULL.
-- source_id           Source file.
WITH communication AS MATERIALIZED (
    SELECT
        device_key, stream_id, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY device_key ORDER BY start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS covered_until
    FROM activity
    WHERE is_communication
),
kept AS MATERIALIZED (
    SELECT device_key, step, begin_ns, end_ns
    FROM device_step
    WHERE exclusion IS NULL AND end_ns > begin_ns
),
compute AS MATERIALIZED (
    SELECT
        d.device_key,
        k.stream_id,
        hash(k.name_id, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z)
            AS shape,
        k.start_ns,
        k.end_ns
    FROM kernel AS k
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    JOIN classified_kernel_name AS n USING (name_id)
    WHERE n.class <> 'communication'
        AND d.device_key IN (SELECT device_key FROM communication)
),
-- A place is the same work only where every step has as many of the kind.
numbered AS (
    SELECT
        k.device_key, k.shape, s.step, k.start_ns, k.end_ns,
        row_number() OVER (
            PARTITION BY k.device_key, k.shape, s.step ORDER BY k.start_ns, k.end_ns
        ) AS place,
        count(*) OVER (PARTITION BY k.device_key, k.shape, s.step) AS shape_count
    FROM compute AS k
    ASOF JOIN kept AS s ON s.device_key = k.device_key AND k.start_ns >= s.begin_ns
    WHERE k.start_ns < s.end_ns
),
last_covered AS (
    SELECT device_key, start_ns, max(covered_until) AS covered_until
    FROM communication
    GROUP BY device_key, start_ns
),
placed AS (
    SELECT
        k.device_key, k.shape, k.place, k.shape_count, k.end_ns - k.start_ns AS dur_ns,
        coalesce(c.covered_until > k.start_ns, false) AS is_beside
    FROM numbered AS k
    ASOF LEFT JOIN last_covered AS c
        ON c.device_key = k.device_key AND k.end_ns > c.start_ns
),
by_shape AS (
    SELECT
        device_key,
        count(*) FILTER (is_beside) AS beside_count,
        sum(dur_ns) FILTER (is_beside) AS beside_ns,
        count(*) FILTER (NOT is_beside) AS alone_count,
        avg(dur_ns) FILTER (NOT is_beside) AS alone_mean_ns
    FROM placed
    GROUP BY device_key, shape, shape_count, place
),
slowed AS (
    SELECT
        device_key,
        sum(beside_count)::BIGINT AS beside_count,
        sum(beside_ns)::BIGINT AS beside_ns,
        sum(beside_count * alone_mean_ns) AS alone_ns
    FROM by_shape
    WHERE beside_count > 0 AND alone_count >= 2
    GROUP BY device_key
),
shared AS (
    SELECT
        c.device_key,
        count(*) AS nccl_count,
        sum(c.end_ns - c.start_ns)::BIGINT AS nccl_sum_ns,
        count(k.stream_id) AS shared_stream_count,
        coalesce(sum(c.end_ns - c.start_ns) FILTER (k.stream_id IS NOT NULL), 0)
            AS shared_ns
    FROM communication AS c
    LEFT JOIN (SELECT DISTINCT device_key, stream_id FROM compute) AS k
        ON k.device_key = c.device_key AND k.stream_id = c.stream_id
    GROUP BY c.device_key
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    s.nccl_count,
    s.nccl_sum_ns,
    s.shared_stream_count,
    share_of(s.shared_ns, s.nccl_sum_ns) AS shared_stream_share,
    CASE
        WHEN s.shared_stream_count = 0
            THEN 'communication has streams of its own: it can overlap compute'
        WHEN s.shared_stream_count = s.nccl_count THEN
            'communication runs on a stream that computes: it cannot overlap that compute'
        ELSE s.shared_stream_count || ' of ' || s.nccl_count || ' communication kernels '
            || 'run on a stream that computes: these cannot overlap that compute'
    END AS structure,
    coalesce(w.beside_count, 0) AS beside_count,
    coalesce(w.beside_ns, 0) AS beside_ns,
    w.alone_ns,
    share_of(w.beside_ns, w.alone_ns) AS slowdown,
    CASE
        WHEN w.device_key IS NOT NULL THEN NULL
        WHEN d.device_key NOT IN (SELECT device_key FROM kept)
            THEN 'no steps: nothing says which kernels do the same work'
        ELSE 'no place of the step is beside communication in some steps, alone in others'
    END AS reason,
    d.source_id
FROM shared AS s
JOIN traced_device AS d USING (device_key)
LEFT JOIN slowed AS w USING (device_key)
ORDER BY d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id
