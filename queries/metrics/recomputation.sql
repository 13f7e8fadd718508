-- Forward work done twice (activation checkpointing): forward kernels of a kind that has
-- named forward and backward kernels, counted against its backward kernels. One forward
-- per backward is ordinary, two mean that everything is recomputed.
-- Grain: one row per (run_id, host, rank, device_id, process, class, source_id).
--
-- run_id           Run.
-- host             Host; NULL when the trace does not say.
-- rank             Global rank; NULL when the trace does not say.
-- device_id        CUDA ordinal inside the process.
-- process          Process id.
-- class            attention or normalisation: kinds whose names tell the direction.
-- step_count       Steps that summaries keep.
-- forward_count    Forward kernels in these: of the name that runs most often.
-- backward_count   Backward kernels in these: of the name that runs most often.
-- forward_sum_ns   Duration of all forward kernels of the kind.
-- recomputed_share  forward / backward - 1, within 0 and 1: share of the forward pass
--                  done again.
-- recomputed_ns    recomputed_share / (1 + recomputed_share) of forward_sum: what the
--                  kind itself costs again.
-- confidence       1 for a count ratio within 5 % of 1 or 2; else 0.5.
-- source_id        Source file.
WITH directed AS (
    SELECT
        a.device_key,
        n.class,
        n.short_name,
        regexp_matches(lower(n.name), 'bwd|backward|_grad|dgrad|wgrad') AS is_backward,
        count(*) AS kernel_count,
        sum(a.end_ns - a.start_ns) AS total_ns
    FROM step_activity AS a
    JOIN device_step AS s USING (device_key, step)
    JOIN classified_kernel_name AS n USING (name_id)
    WHERE a.is_first
        AND s.exclusion IS NULL
        AND n.class IN ('attention', 'normalisation')
        AND regexp_matches(lower(n.name), 'bwd|backward|_grad|fwd|forward')
    GROUP BY ALL
),
kept AS (
    SELECT device_key, count(*) AS step_count
    FROM device_step
    WHERE exclusion IS NULL
    GROUP BY device_key
),
compared AS (
    SELECT
        device_key,
        class,
        max(kernel_count) FILTER (NOT is_backward) AS forward_count,
        max(kernel_count) FILTER (is_backward) AS backward_count,
        (sum(total_ns) FILTER (NOT is_backward))::BIGINT AS forward_sum_ns
    FROM directed
    GROUP BY device_key, class
    HAVING forward_count > 0 AND backward_count > 0
),
shared AS (
    SELECT
        *,
        greatest(0, least(1, forward_count / backward_count - 1)) AS recomputed_share
    FROM compared
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    c.class,
    k.step_count,
    c.forward_count,
    c.backward_count,
    c.forward_sum_ns,
    c.recomputed_share,
    c.forward_sum_ns * c.recomputed_share / (1 + c.recomputed_share) AS recomputed_ns,
    CASE WHEN abs(c.forward_count / c.backward_count - 1) <= 0.05
            OR abs(c.forward_count / c.backward_count - 2) <= 0.05
        THEN 1.0 ELSE 0.5 END::DOUBLE AS confidence,
    d.source_id
FROM shared AS c
JOIN kept AS k USING (device_key)
JOIN traced_device AS d USING (device_key)
ORDER BY
    d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id, c.class
