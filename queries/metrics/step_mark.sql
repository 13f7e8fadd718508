-- The step of median length of each run, on a few of its devices, as marks to draw:
-- kernels, copies and NVTX ranges. What is shorter than step / threshold step_mark_count
-- becomes one mark with its neighbours on the stream, so that a step of any number of
-- kernels can be drawn. The devices are those with most and with least excess time, half
-- and half: threshold step_mark_device_count.
-- Grain: one row per (device_key, mark).
--
-- device_key    See traced_device.
-- run_id        Run.
-- step          Step.
-- step_ns       Its length on this device.
-- mark          1, 2, ... on the device.
-- lane          Stream, or NVTX with the number of the thread and the depth of nesting.
-- class         Kernel class of most of its time, graph_launch, memory_copy, memory_set
--               or nvtx.
-- text          Name of the longest of it.
-- start_ns      Start, ns since the step began on this device; negative for what reached
--               over from the step before.
-- end_ns        Last end.
-- part_count    Activities in it.
-- part_ns       Sum of their durations.
WITH stepped AS MATERIALIZED (FROM rank_step),
lengthy AS (
    SELECT run_id, step, max(step_ns) AS longest_ns
    FROM stepped
    GROUP BY run_id, step
),
chosen_step AS (
    SELECT run_id, step
    FROM lengthy
    JOIN (
        SELECT run_id, quantile_disc(longest_ns, 0.5) AS longest_ns
        FROM lengthy
        GROUP BY run_id
    ) USING (run_id, longest_ns)
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY step) = 1
),
excess AS (
    SELECT run_id, device_key, sum(excess_ns) AS excess_ns
    FROM stepped
    GROUP BY run_id, device_key
),
place AS (
    SELECT
        run_id,
        device_key,
        row_number() OVER (
            PARTITION BY run_id ORDER BY excess_ns DESC, device_key
        ) AS from_most,
        row_number() OVER (
            PARTITION BY run_id ORDER BY excess_ns, device_key DESC
        ) AS from_least,
        threshold_of('step_mark_device_count') / 2 AS half
    FROM excess
),
drawn AS MATERIALIZED (
    SELECT
        p.run_id,
        p.device_key,
        s.step,
        s.begin_ns,
        s.end_ns,
        greatest(1, (s.end_ns - s.begin_ns) / m.mark_count) AS shortest_ns
    FROM place AS p
    JOIN chosen_step AS c USING (run_id)
    JOIN device_step AS s ON s.device_key = p.device_key AND s.step = c.step
    CROSS JOIN (SELECT threshold_of('step_mark_count') AS mark_count) AS m
    WHERE p.from_most <= ceil(p.half) OR p.from_least <= floor(p.half)
),
active AS (
    SELECT
        d.device_key,
        'stream ' || a.stream_id AS lane,
        coalesce(n.class, a.kind) AS class,
        coalesce(n.short_name, concat_ws(' ', replace(a.kind, '_', ' '), a.detail))
            AS text,
        a.start_ns - d.begin_ns AS start_ns,
        a.end_ns - d.begin_ns AS end_ns,
        CASE WHEN a.end_ns - a.start_ns < d.shortest_ns
            THEN floor((a.start_ns - d.begin_ns) / d.shortest_ns) END AS bin
    FROM activity AS a
    JOIN drawn AS d ON d.device_key = a.device_key
    LEFT JOIN classified_kernel_name AS n ON n.name_id = a.name_id
    WHERE a.end_ns > d.begin_ns
        AND a.start_ns < d.end_ns
),
ranged AS (
    SELECT
        d.device_key,
        dense_rank() OVER (PARTITION BY d.device_key ORDER BY r.thread) AS thread,
        r.name,
        r.start_ns,
        r.end_ns,
        r.gpu_start_ns - d.begin_ns AS gpu_start_ns,
        r.gpu_end_ns - d.begin_ns AS gpu_end_ns
    FROM projected_range AS r
    JOIN traced_device AS t
        ON t.run_id = r.run_id AND t.source_id = r.source_id AND t.process = r.process
    JOIN drawn AS d ON d.device_key = t.device_key
    WHERE r.gpu_end_ns > d.begin_ns
        AND r.gpu_start_ns < d.end_ns
        AND r.gpu_end_ns - r.gpu_start_ns >= 4 * d.shortest_ns
        AND r.gpu_end_ns - r.gpu_start_ns <= 2 * (d.end_ns - d.begin_ns)
    QUALIFY row_number() OVER (
        PARTITION BY d.device_key
        ORDER BY r.gpu_end_ns - r.gpu_start_ns DESC, r.start_ns, r.thread, r.name
    ) <= 100
),
nested AS (
    SELECT
        i.device_key, i.thread, i.name, i.start_ns, i.gpu_start_ns, i.gpu_end_ns,
        count(o.name) AS depth
    FROM ranged AS i
    LEFT JOIN ranged AS o
        ON o.device_key = i.device_key
        AND o.thread = i.thread
        AND o.start_ns <= i.start_ns
        AND o.end_ns >= i.end_ns
        AND (o.start_ns < i.start_ns OR o.end_ns > i.end_ns)
    GROUP BY ALL
),
marked AS (
    SELECT
        device_key,
        lane,
        max({'n': end_ns - start_ns, 'class': class, 'text': text}).class AS class,
        max({'n': end_ns - start_ns, 'class': class, 'text': text}).text AS text,
        min(start_ns) AS start_ns,
        max(end_ns) AS end_ns,
        count(*) AS part_count,
        sum(end_ns - start_ns)::BIGINT AS part_ns
    FROM active
    WHERE bin IS NOT NULL
    GROUP BY device_key, lane, bin
    UNION ALL
    SELECT device_key, lane, class, text, start_ns, end_ns, 1, end_ns - start_ns
    FROM active
    WHERE bin IS NULL
    UNION ALL
    SELECT
        device_key, 'NVTX ' || thread || '.' || depth, 'nvtx', name, gpu_start_ns,
        gpu_end_ns, 1, gpu_end_ns - gpu_start_ns
    FROM nested
    WHERE depth < 4
)
SELECT
    m.device_key,
    d.run_id,
    d.step,
    d.end_ns - d.begin_ns AS step_ns,
    row_number() OVER (
        PARTITION BY m.device_key ORDER BY m.start_ns, m.lane, m.end_ns, m.class, m.text
    ) AS mark,
    m.lane,
    m.class,
    m.text,
    m.start_ns,
    m.end_ns,
    m.part_count,
    m.part_ns
FROM marked AS m
JOIN drawn AS d USING (device_key)
ORDER BY device_key, mark
