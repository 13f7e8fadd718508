-- What each device did over time, in equal windows (threshold activity_window_count of
-- them over the activity of its source file, so that devices of one file line up).
-- Grain: one row per (run_id, host, rank, device_id, process, source_id,
--   window_index).
--
-- run_id         Run.
-- host           Host; NULL when the trace does not say.
-- rank           Global rank; NULL when the trace does not say.
-- device_id      CUDA ordinal inside the process.
-- process        Process id.
-- window_index   0, 1, 2, ...
-- start_ns       Start of the window, ns since the capture began.
-- end_ns         End of the window.
-- busy_share     Any activity / length of the window.
-- compute_share  Kernels other than communication, and graph launches / length.
-- communication_share  Communication kernels / length.
-- exposed_communication_share  Communication with no compute beside it / length.
-- exposed_memory_share  Copies and sets with no kernel and no graph beside them / length.
-- source_id      Source file.
WITH span AS (
    SELECT
        run_id,
        source_id,
        min(start_ns) AS origin_ns,
        max(end_ns) - min(start_ns) AS span_ns
    FROM activity
    GROUP BY run_id, source_id
),
extent AS (
    SELECT
        *,
        greatest(
            1, ceil(span_ns / greatest(1, threshold_of('activity_window_count')))
        )::BIGINT AS width_ns
    FROM span
),
covered AS (
    SELECT
        device_key, run_id, source_id, start_ns, end_ns, kind, is_communication,
        is_compute,
        max(end_ns) OVER earlier AS by_any,
        max(CASE WHEN kind IN ('kernel', 'graph_launch') THEN end_ns END) OVER earlier
            AS by_executing,
        max(CASE WHEN is_compute THEN end_ns END) OVER earlier AS by_compute,
        max(CASE WHEN is_communication THEN end_ns END) OVER earlier AS by_communication
    FROM activity
    WINDOW earlier AS (
        PARTITION BY device_key ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
-- The part of each activity that nothing of its class covered before: disjoint segments.
segment AS (
    SELECT device_key, run_id, source_id, 'any' AS class, end_ns,
        greatest(start_ns, coalesce(by_any, start_ns)) AS from_ns
    FROM covered
    UNION ALL
    SELECT device_key, run_id, source_id, 'executing', end_ns,
        greatest(start_ns, coalesce(by_executing, start_ns))
    FROM covered WHERE kind IN ('kernel', 'graph_launch')
    UNION ALL
    SELECT device_key, run_id, source_id, 'compute', end_ns,
        greatest(start_ns, coalesce(by_compute, start_ns))
    FROM covered WHERE is_compute
    UNION ALL
    SELECT device_key, run_id, source_id, 'communication', end_ns,
        greatest(start_ns, coalesce(by_communication, start_ns))
    FROM covered WHERE is_communication
),
cut AS (
    SELECT
        s.device_key, s.class, s.from_ns, s.end_ns, e.origin_ns, e.width_ns,
        unnest(range(
            (s.from_ns - e.origin_ns) // e.width_ns,
            (s.end_ns - 1 - e.origin_ns) // e.width_ns + 1
        )) AS window_index
    FROM segment AS s
    JOIN extent AS e USING (run_id, source_id)
    WHERE s.end_ns > s.from_ns
),
clipped AS (
    SELECT
        device_key, window_index, class,
        sum(least(end_ns, origin_ns + (window_index + 1) * width_ns)
            - greatest(from_ns, origin_ns + window_index * width_ns)) AS ns
    FROM cut
    GROUP BY device_key, window_index, class
),
summed AS (
    SELECT
        device_key,
        window_index,
        coalesce(sum(ns) FILTER (class = 'any'), 0) AS busy_ns,
        coalesce(sum(ns) FILTER (class = 'executing'), 0) AS executing_ns,
        coalesce(sum(ns) FILTER (class = 'compute'), 0) AS compute_ns,
        coalesce(sum(ns) FILTER (class = 'communication'), 0) AS communication_ns
    FROM clipped
    GROUP BY device_key, window_index
),
-- Idle windows are rows too, with zeros.
slot AS (
    SELECT
        d.*, e.origin_ns, e.width_ns,
        unnest(range((e.span_ns + e.width_ns - 1) // e.width_ns)) AS window_index
    FROM traced_device AS d
    JOIN extent AS e USING (run_id, source_id)
)
SELECT
    w.run_id,
    w.host,
    w.rank,
    w.device_id,
    w.process,
    w.window_index,
    w.origin_ns + w.window_index * w.width_ns AS start_ns,
    w.origin_ns + (w.window_index + 1) * w.width_ns AS end_ns,
    coalesce(s.busy_ns, 0) / w.width_ns AS busy_share,
    coalesce(s.compute_ns, 0) / w.width_ns AS compute_share,
    coalesce(s.communication_ns, 0) / w.width_ns AS communication_share,
    coalesce(s.executing_ns - s.compute_ns, 0) / w.width_ns
        AS exposed_communication_share,
    coalesce(s.busy_ns - s.executing_ns, 0) / w.width_ns AS exposed_memory_share,
    w.source_id
FROM slot AS w
LEFT JOIN summed AS s USING (device_key, window_index)
ORDER BY w.run_id, w.host, w.rank, w.device_id, w.process, w.source_id, w.window_index
