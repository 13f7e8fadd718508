-- Time of each device by what occupied it: unions of intervals, never sums.
-- Grain: one row per device_key: a device as one process used it.
--
-- device_key        See traced_device.
-- start_ns          First start of any activity.
-- end_ns            Last end of any activity.
-- busy_ns           Union of all activity.
-- kernel_busy_ns    Union of kernels.
-- graph_ns          Union of graph launches recorded as a whole.
-- executing_ns      Union of kernels and graph launches.
-- compute_ns        Union of kernels other than communication, and of graph launches.
-- communication_ns  Union of communication kernels.
-- kernel_sum_ns     Sum of the kernels' durations.
-- nccl_sum_ns       Sum of the communication kernels' durations.
-- kernel_count      Kernels.
-- nccl_count        Communication kernels.
WITH covered AS (
    SELECT
        device_key, start_ns, end_ns, kind, is_communication, is_compute,
        kind IN ('kernel', 'graph_launch') AS is_executing,
        max(end_ns) OVER earlier AS by_any,
        max(CASE WHEN kind IN ('kernel', 'graph_launch') THEN end_ns END) OVER earlier
            AS by_executing,
        max(CASE WHEN is_compute THEN end_ns END) OVER earlier AS by_compute
    FROM activity
    WINDOW earlier AS (
        PARTITION BY device_key ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
total AS (
    SELECT
        device_key,
        min(start_ns) AS start_ns,
        max(end_ns) AS end_ns,
        sum(uncovered_ns(start_ns, end_ns, by_any)) AS busy_ns,
        sum(uncovered_ns(start_ns, end_ns, by_executing)) FILTER (is_executing)
            AS executing_ns,
        sum(uncovered_ns(start_ns, end_ns, by_compute)) FILTER (is_compute) AS compute_ns,
        sum(end_ns - start_ns) FILTER (kind = 'kernel') AS kernel_sum_ns,
        sum(end_ns - start_ns) FILTER (is_communication) AS nccl_sum_ns,
        count(*) FILTER (kind = 'kernel') AS kernel_count,
        count(*) FILTER (is_communication) AS nccl_count
    FROM covered
    GROUP BY device_key
),
-- Classes with few rows, or rarely present: a window of their own is cheaper than one
-- more running maximum over every row. Kernels alone differ from executing only beside
-- graphs.
part AS (
    SELECT device_key, start_ns, end_ns, 'communication' AS class
    FROM activity WHERE is_communication
    UNION ALL
    SELECT device_key, start_ns, end_ns, 'graph' FROM activity WHERE kind = 'graph_launch'
    UNION ALL
    SELECT device_key, start_ns, end_ns, 'kernel' FROM activity
    WHERE kind = 'kernel'
        AND device_key IN (SELECT device_key FROM activity WHERE kind = 'graph_launch')
),
part_covered AS (
    SELECT *, max(end_ns) OVER (
        PARTITION BY device_key, class ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS by_same
    FROM part
),
part_total AS (
    SELECT
        device_key,
        sum(uncovered_ns(start_ns, end_ns, by_same)) FILTER (class = 'communication')
            AS communication_ns,
        sum(uncovered_ns(start_ns, end_ns, by_same)) FILTER (class = 'graph') AS graph_ns,
        sum(uncovered_ns(start_ns, end_ns, by_same)) FILTER (class = 'kernel')
            AS kernel_ns
    FROM part_covered
    GROUP BY device_key
)
SELECT
    t.device_key,
    t.start_ns,
    t.end_ns,
    t.busy_ns::BIGINT AS busy_ns,
    CASE WHEN p.graph_ns IS NULL THEN coalesce(t.executing_ns, 0)
        ELSE coalesce(p.kernel_ns, 0) END::BIGINT AS kernel_busy_ns,
    coalesce(p.graph_ns, 0)::BIGINT AS graph_ns,
    coalesce(t.executing_ns, 0)::BIGINT AS executing_ns,
    coalesce(t.compute_ns, 0)::BIGINT AS compute_ns,
    coalesce(p.communication_ns, 0)::BIGINT AS communication_ns,
    coalesce(t.kernel_sum_ns, 0)::BIGINT AS kernel_sum_ns,
    coalesce(t.nccl_sum_ns, 0)::BIGINT AS nccl_sum_ns,
    t.kernel_count,
    t.nccl_count
FROM total AS t
LEFT JOIN part_total AS p USING (device_key)
