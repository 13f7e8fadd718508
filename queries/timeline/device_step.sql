-- Training steps on each device: from NVTX ranges that name steps, projected through the
-- launches of all threads of the process; without any, from the period in which kernels
-- repeat. Steps follow each other without a hole: one begins where the work of the one
-- before ends, so that idle time belongs to the step that it delays.
-- Grain: one row per (device_key, step).
--
-- device_key    See traced_device.
-- step          Number of the step, as its ranges say, else counted from 0.
-- name          Text of the range; NULL when found by period.
-- begin_ns      End of the previous step; of the first step, start of its own work.
-- start_ns      First start on the device of work launched in it.
-- end_ns        Last end of work launched in it, or start of the next step's work if that
--               is earlier.
-- host_start_ns  Start of the range on the host; NULL when found by period.
-- host_end_ns   End of the range on the host; NULL when found by period.
-- origin        nvtx or kernel period.
-- confidence    1 for ranges; of a period see kernel_period.
-- exclusion     Why summaries leave it out: warm-up, profiler, cut off; else NULL.
WITH ranged AS MATERIALIZED (
    SELECT
        l.device_key,
        l.run_id,
        l.source_id,
        l.process,
        s.step,
        s.name,
        min(l.start_ns) AS start_ns,
        max(l.end_ns) AS work_end_ns,
        s.start_ns AS host_start_ns,
        s.end_ns AS host_end_ns
    FROM launched_activity AS l
    ASOF JOIN step_range AS s
        ON s.run_id = l.run_id
        AND s.source_id = l.source_id
        AND s.process = l.process
        AND l.call_start_ns >= s.start_ns
    WHERE l.call_start_ns < s.end_ns
    GROUP BY ALL
),
-- Without ranges a step's work ends where everything before the next step's first kernel
-- has ended.
marked AS (
    SELECT
        a.device_key,
        a.start_ns,
        k.confidence,
        a.name_id IS NOT DISTINCT FROM k.name_id AS is_mark,
        max(a.end_ns) OVER (
            PARTITION BY a.device_key ORDER BY a.start_ns, is_mark DESC, a.end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until,
        max(a.end_ns) OVER (PARTITION BY a.device_key) AS last_ns
    FROM kernel_period AS k
    JOIN activity AS a USING (device_key)
    WHERE k.device_key NOT IN (SELECT device_key FROM ranged)
),
periodic AS (
    SELECT
        device_key,
        row_number() OVER in_order - 1 AS step,
        start_ns,
        coalesce(lead(covered_until) OVER in_order, last_ns) AS work_end_ns,
        confidence
    FROM marked
    WHERE is_mark
    WINDOW in_order AS (PARTITION BY device_key ORDER BY start_ns)
),
found AS (
    SELECT
        device_key, step, name, start_ns, work_end_ns, host_start_ns, host_end_ns,
        'nvtx' AS origin, 1.0::DOUBLE AS confidence
    FROM ranged
    UNION ALL
    SELECT
        device_key, step, NULL, start_ns, work_end_ns, NULL, NULL, 'kernel period',
        confidence
    FROM periodic
),
ended AS (
    SELECT
        *,
        lead(start_ns) OVER in_order AS next_start_ns,
        row_number() OVER in_order AS place
    FROM found
    WINDOW in_order AS (PARTITION BY device_key ORDER BY start_ns, step)
),
tiled AS (
    SELECT
        *,
        least(work_end_ns, coalesce(next_start_ns, work_end_ns)) AS end_ns
    FROM ended
),
begun AS (
    SELECT
        *,
        coalesce(lag(end_ns) OVER in_order, start_ns) AS begin_ns
    FROM tiled
    WINDOW in_order AS (PARTITION BY device_key ORDER BY place)
),
timed AS MATERIALIZED (
    SELECT
        *,
        median(end_ns - begin_ns) OVER (PARTITION BY device_key) AS median_ns
    FROM begun
),
-- Overhead of several threads at once counts once.
merged_overhead AS (
    SELECT
        run_id, source_id, process,
        greatest(start_ns, coalesce(covered_until, start_ns)) AS start_ns,
        end_ns
    FROM (
        SELECT
            run_id, source_id, process, start_ns, end_ns,
            max(end_ns) OVER (
                PARTITION BY run_id, source_id, process ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS covered_until
        FROM profiler_overhead
    )
    WHERE end_ns > coalesce(covered_until, start_ns)
),
overhead AS (
    SELECT t.device_key, t.step, sum(
        greatest(0, least(o.end_ns, t.end_ns) - greatest(o.start_ns, t.begin_ns))
    ) AS overhead_ns
    FROM timed AS t
    JOIN traced_device AS d USING (device_key)
    JOIN merged_overhead AS o
        ON o.run_id = d.run_id
        AND o.source_id = d.source_id
        AND o.process = d.process
        AND o.start_ns < t.end_ns
        AND o.end_ns > t.begin_ns
    GROUP BY t.device_key, t.step
),
judged AS (
    SELECT
        t.*,
        t.end_ns - t.begin_ns > threshold_of('step_warm_up_ratio') * t.median_ns
            AS is_slow,
        coalesce(o.overhead_ns, 0)
            > threshold_of('step_profiler_share') * (t.end_ns - t.begin_ns) AS is_profiler
    FROM timed AS t
    LEFT JOIN overhead AS o USING (device_key, step)
)
SELECT
    device_key,
    step,
    name,
    begin_ns,
    start_ns,
    end_ns,
    host_start_ns,
    host_end_ns,
    origin,
    confidence,
    CASE
        WHEN is_profiler THEN 'profiler'
        WHEN origin = 'kernel period' AND next_start_ns IS NULL THEN 'cut off'
        -- Only steps at the beginning: a slow step later is a finding.
        WHEN bool_and(is_slow) OVER (
            PARTITION BY device_key ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) THEN 'warm-up'
    END AS exclusion
FROM judged
