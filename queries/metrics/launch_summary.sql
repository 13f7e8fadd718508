-- How work gets to each device: launch latency, how much is queued ahead of the device,
-- how short the kernels are. A device whose queue is empty at most launches is launch
-- bound.
-- Grain: one row per (run_id, host, rank, device_id, process, source_id).
--
-- run_id            Run.
-- host              Host; NULL when the trace does not say.
-- rank              Global rank; NULL when the trace does not say.
-- device_id         CUDA ordinal inside the process.
-- process           Process id.
-- activity_count    Activities on the device.
-- launched_count    Of these, with a recorded launch call; graphs' nodes share one.
-- launch_count      Launch calls of these.
-- kernel_count      Kernels.
-- kernels_per_s     Kernels / span.
-- short_kernel_count  Kernels shorter than threshold short_kernel_ns.
-- short_kernel_share  short_kernel_count / kernel_count.
-- median_kernel_ns  Median duration of a kernel.
-- median_call_ns    Median duration of a launch call.
-- median_latency_ns  Median from begin of the launch call to the first start on the
--                   device; NULL when clocks disagree.
-- p90_latency_ns    90th percentile of the same.
-- p99_latency_ns    99th percentile of the same.
-- median_queue_depth  Median over launch calls of the activities launched by earlier ones
--                   and not yet started.
-- p90_queue_depth   90th percentile of the same.
-- empty_queue_share  Share of launch calls that met an empty queue.
-- early_count       Activities that start before their launch call.
-- worst_early_ns    How long before, at worst.
-- waited_count      Calls that waited for work of the device; see clock_check.
-- late_count        Of these, those that returned before the end of that work.
-- worst_late_ns     How long before, at worst; NULL without such a call.
-- disagreement_ns   By how much the clocks of CPU and GPU disagree at least; NULL when
--                   aligned.
-- is_aligned        Whether clocks of CPU and GPU agree; see clock_check.
-- source_id         Source file.
WITH launch AS (
    SELECT
        device_key, thread, call_start_ns, call_end_ns,
        count(*) AS launched_count,
        min(start_ns) AS start_ns
    FROM launched_activity
    GROUP BY device_key, thread, call_start_ns, call_end_ns
),
counted_launch AS (
    SELECT
        *,
        sum(launched_count) OVER (
            PARTITION BY device_key ORDER BY call_start_ns, thread, call_end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS launched_before
    FROM launch
),
last_begun AS (
    SELECT
        device_key, start_ns,
        sum(count(*)) OVER (PARTITION BY device_key ORDER BY start_ns) AS begun_count
    FROM launched_activity
    GROUP BY device_key, start_ns
),
queued AS (
    SELECT
        l.device_key,
        l.launched_count,
        l.call_end_ns - l.call_start_ns AS call_ns,
        l.start_ns - l.call_start_ns AS latency_ns,
        greatest(0, coalesce(l.launched_before, 0) - coalesce(b.begun_count, 0))::BIGINT
            AS queue_depth
    FROM counted_launch AS l
    ASOF LEFT JOIN last_begun AS b
        ON b.device_key = l.device_key AND l.call_start_ns >= b.start_ns
),
latency AS (
    SELECT
        device_key,
        sum(launched_count)::BIGINT AS launched_count,
        count(*) AS launch_count,
        median(call_ns) AS median_call_ns,
        quantile_cont(latency_ns, [0.5, 0.9, 0.99]) AS latencies,
        quantile_disc(queue_depth, [0.5, 0.9]) AS depths,
        count(*) FILTER (queue_depth = 0) AS empty_count
    FROM queued
    GROUP BY device_key
),
total AS (
    SELECT
        device_key,
        count(*) AS activity_count,
        max(end_ns) - min(start_ns) AS span_ns,
        count(*) FILTER (kind = 'kernel') AS kernel_count,
        count(*) FILTER (
            kind = 'kernel' AND end_ns - start_ns < threshold_of('short_kernel_ns')
        ) AS short_kernel_count,
        median(end_ns - start_ns) FILTER (kind = 'kernel') AS median_kernel_ns
    FROM activity
    GROUP BY device_key
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    t.activity_count,
    coalesce(l.launched_count, 0) AS launched_count,
    coalesce(l.launch_count, 0) AS launch_count,
    t.kernel_count,
    share_of(t.kernel_count, t.span_ns / 1e9) AS kernels_per_s,
    t.short_kernel_count,
    share_of(t.short_kernel_count, t.kernel_count) AS short_kernel_share,
    t.median_kernel_ns,
    l.median_call_ns,
    CASE WHEN k.is_aligned THEN l.latencies[1] END AS median_latency_ns,
    CASE WHEN k.is_aligned THEN l.latencies[2] END AS p90_latency_ns,
    CASE WHEN k.is_aligned THEN l.latencies[3] END AS p99_latency_ns,
    CASE WHEN k.is_aligned THEN l.depths[1] END AS median_queue_depth,
    CASE WHEN k.is_aligned THEN l.depths[2] END AS p90_queue_depth,
    CASE WHEN k.is_aligned THEN share_of(l.empty_count, l.launch_count) END
        AS empty_queue_share,
    k.early_count,
    k.worst_early_ns,
    k.waited_count,
    k.late_count,
    k.worst_late_ns,
    k.disagreement_ns,
    k.is_aligned,
    d.source_id
FROM total AS t
JOIN traced_device AS d USING (device_key)
LEFT JOIN latency AS l USING (device_key)
LEFT JOIN clock_check AS k USING (device_key)
ORDER BY d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id
