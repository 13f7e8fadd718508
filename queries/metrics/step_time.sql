-- Each training step on each device, and the exclusive split of its time: compute,
-- exposed communication, exposed memory operations and idle sum to the step exactly.
-- Grain: one row per (run_id, host, rank, device_id, process, step, source_id).
--
-- run_id           Run.
-- host             Host; NULL when the trace does not say.
-- rank             Global rank; NULL when the trace does not say.
-- device_id        CUDA ordinal inside the process.
-- process          Process id.
-- step             Number of the step.
-- name             Text of its NVTX range; NULL when found by the period of kernels.
-- origin           What marks the step: nvtx or kernel period.
-- confidence       1 for ranges; of a period the share of kernels that follow it.
-- exclusion        Why summaries leave it out: warm-up, profiler, cut off; else NULL.
-- begin_ns         End of the previous step's work; of the first step, start of its own.
-- step_ns          Length: from there to the end of its own work.
-- busy_ns          Union of all activity.
-- idle_ns          step - busy.
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
split AS (
    SELECT
        s.*,
        s.end_ns - s.begin_ns AS step_ns,
        coalesce(t.busy_ns, 0)::BIGINT AS busy_ns,
        -- The idle time before the first activity: no activity of this step precedes it.
        coalesce(t.first_ns, s.end_ns) - s.begin_ns AS before_ns,
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
)
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
    share_of(exposed_communication_ns, s.step_ns) AS exposed_communication_share,
    share_of(idle_ns, s.step_ns) AS idle_share,
    d.source_id
FROM split AS s
JOIN traced_device AS d USING (device_key)
ORDER BY
    d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id, s.step
