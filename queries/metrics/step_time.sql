-- Each training step on each device, and the exclusive split of its time: compute,
-- exposed communication, exposed memory operations and idle sum to the step exactly. Of a
-- run without steps on devices, the lines of its training logs, without a split.
-- Grain: one row per (run_id, host, rank, device_id, process, step, source_id).
-- Better: lower.
-- Value: step_ns, exposed_communication_share, nccl_share_of_kernel_time, idle_share.
--
-- run_id           Run.
-- host             Host; NULL when the trace does not say.
-- rank             Global rank; NULL when the trace does not say.
-- device_id        CUDA ordinal inside the process; NULL for a line of a log.
-- process          Process id; NULL for a line of a log.
-- step             Number of the step.
-- name             Text of its NVTX range; NULL without one.
-- origin           What marks the step: nvtx, training log or kernel period.
-- confidence       1 for ranges that are called steps; else see device_step. 1 for a line
--                  of a log alone.
-- exclusion        Why summaries leave it out: warm-up, profiler, cut off; else NULL.
-- begin_ns         End of the previous step's work; of the first step see device_step.
--                  NULL for a line of a log.
-- step_ns          Length: from there to the end of its own work; of a line of a log, the
--                  mean of the steps that it is about.
-- busy_ns          Union of all activity.
-- idle_ns          step - busy.
-- lead_in_ns       Part of idle before anything ran on the device, of the first step
--                  only: no gap, so kernel_gap_cause does not split it.
-- gap_ns           Idle time in gaps of at least threshold kernel_gap_ns.
-- compute_ns       Union of kernels other than communication, and of graph launches.
-- communication_ns  Union of communication kernels.
-- overlap_ns       Communication with compute beside it.
-- exposed_communication_ns  Communication with no compute beside it.
-- exposed_memory_ns  Copies and sets with no kernel and no graph beside them.
-- kernel_sum_ns    Sum of the kernels' durations inside the step.
-- nccl_sum_ns      Sum of the communication kernels' durations inside the step.
-- kernel_count     Kernels that start in the step.
-- nccl_count       Communication kernels that start in the step.
-- nccl_share_of_kernel_time  nccl_sum / kernel_sum.
-- communication_share  communication / step.
-- exposed_communication_share  exposed communication / step: the one a verdict uses.
-- idle_share       idle / step.
-- tokens           Tokens of the step over all ranks: as the run's log tells for this
--                  number, else batch times sequence length of run_fact; NULL when
--                  not known.
-- tokens_per_s     Tokens / step.
-- tokens_source    training log or run_fact.
-- reason           Why there is no split, nor steps on devices; NULL for a step on a
--                  device.
-- source_id        Source file.
WITH covered AS (
    SELECT
        *,
        kind IN ('kernel', 'graph_launch') AS is_executing,
        max(end_ns) OVER earlier AS by_any,
        max(CASE WHEN kind IN ('kernel', 'graph_launch') THEN end_ns END) OVER earlier
            AS by_executing,
        max(CASE WHEN is_compute THEN end_ns END) OVER earlier AS by_compute,
        max(CASE WHEN is_communication THEN end_ns END) OVER earlier
            AS by_communication
    FROM step_activity
    WINDOW earlier AS (
        PARTITION BY device_key, step ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
total AS (
    SELECT
        device_key,
        step,
        min(start_ns) AS first_ns,
        max(end_ns) AS last_ns,
        sum(uncovered_ns(start_ns, end_ns, by_any)) AS busy_ns,
        sum(hole_ns(start_ns, by_any)) FILTER (
            hole_ns(start_ns, by_any) >= threshold_of('kernel_gap_ns')
        ) AS gap_ns,
        sum(uncovered_ns(start_ns, end_ns, by_executing)) FILTER (is_executing)
            AS executing_ns,
        sum(uncovered_ns(start_ns, end_ns, by_compute)) FILTER (is_compute) AS compute_ns,
        sum(uncovered_ns(start_ns, end_ns, by_communication)) FILTER (is_communication)
            AS communication_ns,
        sum(end_ns - start_ns) FILTER (kind = 'kernel') AS kernel_sum_ns,
        sum(end_ns - start_ns) FILTER (is_communication) AS nccl_sum_ns,
        count(*) FILTER (kind = 'kernel' AND is_first) AS kernel_count,
        count(*) FILTER (is_communication AND is_first) AS nccl_count
    FROM covered
    GROUP BY device_key, step
),
-- Steps of several printers or attempts: the last attempt counts.
log_line AS MATERIALIZED (
    SELECT *
    FROM logged_step
    WHERE step IS NOT NULL AND step_ns IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY run_id, source_id, host, rank, step
        ORDER BY attempt DESC, line DESC, framework
    ) = 1
),
step_of_log AS (
    SELECT
        run_id, host, rank, step,
        'training log' AS origin,
        1.0::DOUBLE AS confidence,
        CASE WHEN is_first THEN 'warm-up' END AS exclusion,
        step_ns, tokens,
        CASE
            WHEN run_id NOT IN (SELECT run_id FROM traced_device)
                THEN 'the run has no GPU trace'
            WHEN end_utc_ns IS NULL
                THEN 'the log has no time in UTC: telemetry.utc_offset in run.toml'
            WHEN step_count > 1 THEN 'the log tells means over several steps'
            ELSE 'no step of the log lies in a GPU trace with a start in UTC'
        END AS reason,
        source_id
    FROM log_line
),
step_tokens AS (
    SELECT run_id, step, min(tokens) AS tokens
    FROM log_line
    GROUP BY run_id, step
    HAVING min(tokens) = max(tokens)
),
batch_tokens AS (
    SELECT run_id, product(value_number)::BIGINT AS tokens
    FROM run_fact
    WHERE key IN ('training.global_batch_size', 'model.sequence_length')
    GROUP BY run_id
    HAVING count(value_number) = 2
),
split AS (
    SELECT
        s.*,
        s.end_ns - s.begin_ns AS step_ns,
        coalesce(t.busy_ns, 0)::BIGINT AS busy_ns,
        -- The idle time before the first activity: no activity of this step precedes it.
        coalesce(t.first_ns, s.end_ns) - s.begin_ns - s.lead_in_ns AS before_ns,
        -- And after the last, where the next step's work starts before all of this one's.
        s.end_ns - coalesce(t.last_ns, s.end_ns) AS after_ns,
        (
            coalesce(t.gap_ns, 0)
            + CASE WHEN before_ns >= threshold_of('kernel_gap_ns')
                THEN before_ns ELSE 0 END
            + CASE WHEN after_ns >= threshold_of('kernel_gap_ns')
                THEN after_ns ELSE 0 END
        )::BIGINT AS gap_ns,
        coalesce(t.executing_ns, 0)::BIGINT AS executing_ns,
        coalesce(t.compute_ns, 0)::BIGINT AS compute_ns,
        coalesce(t.communication_ns, 0)::BIGINT AS communication_ns,
        coalesce(t.kernel_sum_ns, 0)::BIGINT AS kernel_sum_ns,
        coalesce(t.nccl_sum_ns, 0)::BIGINT AS nccl_sum_ns,
        coalesce(t.kernel_count, 0) AS kernel_count,
        coalesce(t.nccl_count, 0) AS nccl_count
    FROM device_step AS s
    -- A step whose work starts together with the next one's keeps nothing but its wait.
    LEFT JOIN total AS t USING (device_key, step)
),
on_device AS MATERIALIZED (
    SELECT
        d.run_id,
        d.host,
        d.rank,
        d.device_id,
        d.process,
        s.step,
        s.name,
        s.origin,
        s.confidence,
        s.exclusion,
        s.begin_ns,
        s.step_ns,
        s.busy_ns,
        s.step_ns - s.busy_ns AS idle_ns,
        s.lead_in_ns,
        s.gap_ns,
        s.compute_ns,
        s.communication_ns,
        s.compute_ns + s.communication_ns - s.executing_ns AS overlap_ns,
        s.executing_ns - s.compute_ns AS exposed_communication_ns,
        s.busy_ns - s.executing_ns AS exposed_memory_ns,
        s.kernel_sum_ns,
        s.nccl_sum_ns,
        s.kernel_count,
        s.nccl_count,
        share_of(s.nccl_sum_ns, s.kernel_sum_ns) AS nccl_share_of_kernel_time,
        share_of(s.communication_ns, s.step_ns) AS communication_share,
        share_of(s.executing_ns - s.compute_ns, s.step_ns) AS exposed_communication_share,
        share_of(s.step_ns - s.busy_ns, s.step_ns) AS idle_share,
        NULL AS reason,
        d.source_id
    FROM split AS s
    JOIN traced_device AS d USING (device_key)
),
every_step AS (
    FROM on_device
    UNION ALL BY NAME
    SELECT * EXCLUDE (tokens) FROM step_of_log
    ANTI JOIN on_device USING (run_id)
)
SELECT
    s.run_id,
    s.host,
    s.rank,
    s.device_id,
    s.process,
    s.step,
    s.name,
    s.origin,
    s.confidence,
    s.exclusion,
    s.begin_ns,
    s.step_ns,
    s.busy_ns,
    s.idle_ns,
    s.lead_in_ns,
    s.gap_ns,
    s.compute_ns,
    s.communication_ns,
    s.overlap_ns,
    s.exposed_communication_ns,
    s.exposed_memory_ns,
    s.kernel_sum_ns,
    s.nccl_sum_ns,
    s.kernel_count,
    s.nccl_count,
    s.nccl_share_of_kernel_time,
    s.communication_share,
    s.exposed_communication_share,
    s.idle_share,
    coalesce(l.tokens, f.tokens) AS tokens,
    share_of(coalesce(l.tokens, f.tokens) * 1e9, s.step_ns) AS tokens_per_s,
    CASE WHEN l.tokens IS NOT NULL THEN 'training log'
        WHEN f.tokens IS NOT NULL THEN 'run_fact' END AS tokens_source,
    s.reason,
    s.source_id
FROM every_step AS s
LEFT JOIN step_tokens AS l
    ON l.run_id = s.run_id
    AND l.step = s.step
    -- A number that was only counted says nothing about the log's.
    AND (s.origin = 'training log' OR contains(s.name, s.step::VARCHAR))
LEFT JOIN batch_tokens AS f ON f.run_id = s.run_id
ORDER BY
    s.run_id, s.host, s.rank, s.device_id, s.process, s.source_id, s.step
