-- Forward work done twice (activation checkpointing): kernels launched in the backward
-- pass that repeat a sequence of at least three kernels (name, grid, block; not all
-- alike) of the same step's forward pass. Repeats of one or two kernels are not told
-- apart from kernels that both passes use.
-- Grain: one row per (run_id, host, rank, device_id, process, step, source_id).
--
-- run_id           Run.
-- host             Host; NULL when the trace does not say.
-- rank             Global rank; NULL when the trace does not say.
-- device_id        CUDA ordinal inside the process.
-- process          Process id.
-- step             Step.
-- exclusion        Why summaries leave the step out; else NULL.
-- forward_count    Compute kernels before the last backward one, outside of backward.
-- forward_sum_ns   Sum of their durations.
-- backward_sum_ns  Sum of the durations of those launched in the backward pass.
-- recomputed_count  Of these, kernels that repeat forward ones; NULL when unknown.
-- recomputed_ns    Sum of their durations.
-- recomputed_share  recomputed / forward_sum, at most 1: of the forward pass done again.
-- step_share       recomputed / all compute kernels' time of the step.
-- evidence         What tells the backward pass: range, thread or name; else NULL.
-- confidence       0.9 where a range or thread tells, 0.5 where only names of kernels do;
--                  0 when unknown.
-- reason           Why it is unknown; else NULL.
-- source_id        Source file.
WITH kernel_of_step AS MATERIALIZED (
    SELECT
        k.* REPLACE (k.is_backward OR r.step IS NOT NULL AS is_backward),
        row_number() OVER (
            ORDER BY k.device_key, k.step, k.start_ns, k.stream_id
        ) AS place
    FROM directed_kernel AS k
    LEFT JOIN repeated_forward AS r
        ON r.device_key = k.device_key
        AND r.step = k.step
        AND r.stream_id = k.stream_id
        AND k.start_ns >= r.from_ns
        AND k.start_ns < r.until_ns
),
sequence AS MATERIALIZED (
    SELECT
        device_key, step, place, dur_ns, is_backward,
        lead(place) OVER in_order AS second_place,
        lead(place, 2) OVER in_order AS third_place,
        CASE WHEN lead(shape, 2) OVER in_order IS NOT NULL AND NOT (
            shape = lead(shape) OVER in_order AND shape = lead(shape, 2) OVER in_order
        ) THEN hash(shape, lead(shape) OVER in_order, lead(shape, 2) OVER in_order) END
            AS run
    FROM kernel_of_step
    WHERE is_backward IS NOT NULL
    WINDOW in_order AS (
        PARTITION BY device_key, step, is_backward, stream_id ORDER BY start_ns, place
    )
),
repeated AS MATERIALIZED (
    SELECT b.place, b.second_place, b.third_place
    FROM sequence AS b
    SEMI JOIN (
        SELECT device_key, step, run FROM sequence WHERE NOT is_backward
    ) AS f USING (device_key, step, run)
    WHERE b.is_backward
),
again AS (
    SELECT place FROM repeated
    UNION
    SELECT second_place FROM repeated
    UNION
    SELECT third_place FROM repeated
),
last_backward AS (
    SELECT device_key, step, max(start_ns) FILTER (is_backward) AS last_ns
    FROM kernel_of_step
    GROUP BY device_key, step
),
-- One backward pass of attention may be three kernels: of the names the most frequent.
named AS (
    SELECT
        device_key, step,
        coalesce(max(kernel_count) FILTER (is_forward_name), 0) AS forward_name_count,
        coalesce(max(kernel_count) FILTER (is_backward_name), 0) AS backward_name_count
    FROM (
        SELECT
            device_key, step, shape, is_forward_name, is_backward_name,
            count(*) AS kernel_count
        FROM kernel_of_step
        GROUP BY ALL
    )
    GROUP BY device_key, step
),
summed AS (
    SELECT
        k.device_key,
        k.step,
        any_value(k.evidence) AS evidence,
        count(*) FILTER (NOT k.is_backward AND k.start_ns < l.last_ns) AS forward_count,
        coalesce(sum(k.dur_ns) FILTER (NOT k.is_backward AND k.start_ns < l.last_ns), 0)
            ::BIGINT AS forward_sum_ns,
        coalesce(sum(k.dur_ns) FILTER (k.is_backward), 0)::BIGINT AS backward_sum_ns,
        count(a.place) AS recomputed_count,
        coalesce(sum(k.dur_ns) FILTER (a.place IS NOT NULL), 0)::BIGINT AS recomputed_ns,
        sum(k.dur_ns)::BIGINT AS compute_sum_ns,
        any_value(n.forward_name_count) AS forward_name_count,
        any_value(n.backward_name_count) AS backward_name_count,
        count(*) FILTER (k.is_forward_name AND k.is_backward) AS forward_in_backward_count
    FROM kernel_of_step AS k
    JOIN last_backward AS l USING (device_key, step)
    JOIN named AS n USING (device_key, step)
    LEFT JOIN again AS a USING (place)
    GROUP BY k.device_key, k.step
),
judged AS (
    SELECT
        *,
        CASE
            WHEN evidence IS NULL THEN
                'no range, thread or kernel name tells where the backward pass begins'
            WHEN backward_sum_ns = 0 OR forward_count = 0
                THEN 'no forward or no backward pass in the step'
            -- As many forward as backward ones, some of them between these.
            WHEN evidence = 'name'
                AND forward_in_backward_count > 0
                AND forward_name_count <= backward_name_count THEN
                'passes of several micro-batches alternate, and no range tells them apart'
            WHEN evidence = 'name' AND forward_name_count = 0 AND recomputed_count > 0
                THEN 'what is repeated may be another micro-batch: no range and no '
                    || 'forward name'
        END AS reason
    FROM summed
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    s.step,
    s.exclusion,
    j.forward_count,
    j.forward_sum_ns,
    j.backward_sum_ns,
    CASE WHEN j.reason IS NULL THEN j.recomputed_count END AS recomputed_count,
    CASE WHEN j.reason IS NULL THEN j.recomputed_ns END AS recomputed_ns,
    CASE WHEN j.reason IS NULL AND j.forward_sum_ns > 0
        THEN least(1, j.recomputed_ns / j.forward_sum_ns) END AS recomputed_share,
    CASE WHEN j.reason IS NULL THEN share_of(j.recomputed_ns, j.compute_sum_ns) END
        AS step_share,
    j.evidence,
    CASE
        WHEN j.step IS NULL OR j.reason IS NOT NULL THEN 0
        WHEN j.evidence = 'name' THEN 0.5
        ELSE 0.9
    END::DOUBLE AS confidence,
    CASE WHEN j.step IS NOT NULL THEN j.reason
        WHEN s.host_start_ns IS NULL THEN
            'steps were found by the period of kernels: what each launched is unknown'
        ELSE 'no launch of a compute kernel is recorded in the step' END AS reason,
    d.source_id
FROM device_step AS s
JOIN traced_device AS d USING (device_key)
LEFT JOIN judged AS j USING (device_key, step)
ORDER BY d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id, s.step
