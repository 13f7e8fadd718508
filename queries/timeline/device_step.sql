-- Training steps on each device: NVTX ranges that name steps, or lines of the training
-- log, projected through the launches of all threads of the process; without any, the
-- sequence in which kernels repeat. Steps follow each other without a hole: one begins
-- where the work of the one before ends, so that idle time belongs to the step that it
-- delays; the first where its range begins on the host, or where the device has done all
-- before.
-- Grain: one row per (device_key, step).
--
-- device_key    See traced_device.
-- step          Number of the step, as its ranges or the log say, else counted from 0.
-- name          Text of the range; NULL without one.
-- begin_ns      End of the previous step; of the first step, start of its range, of the
--               idle time behind earlier work or of its own work, whichever is certain.
-- start_ns      First start on the device of work launched in it.
-- end_ns        Last end of work launched in it, or start of the next step's work if that
--               is earlier.
-- host_start_ns  Start on the host; NULL when found by period.
-- host_end_ns   End on the host; NULL when found by period.
-- origin        nvtx, training log or kernel period.
-- confidence    1 for ranges that are called steps; else see step_range, kernel_period.
-- exclusion     Why summaries leave it out: warm-up, profiler, cut off; else NULL.
-- lead_in_ns    Part of the first step before anything ran on the device, which is no gap
--               between two activities; else 0.
WITH found AS (
    SELECT
        device_key, step, name, start_ns, work_end_ns, host_start_ns, host_end_ns,
        origin, confidence, false AS is_cut_off
    FROM launched_step
    UNION ALL
    SELECT
        device_key, step, NULL, start_ns, work_end_ns, NULL, NULL, 'kernel period',
        confidence, is_cut_off
    FROM periodic_step
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
-- What the device did before the first step; after the last it may go on.
around AS (
    SELECT
        f.device_key,
        max(a.end_ns) FILTER (a.start_ns < f.start_ns) AS before_ns,
        max(a.end_ns) AS last_ns
    FROM tiled AS f
    JOIN activity AS a USING (device_key)
    WHERE f.place = 1
    GROUP BY f.device_key
),
begun AS (
    SELECT
        t.*,
        r.before_ns IS NULL AND t.place = 1 AS is_at_begin,
        r.last_ns <= t.end_ns AS is_at_end,
        CASE
            WHEN t.place > 1 THEN lag(t.end_ns) OVER in_order
            -- The log may tell of a step that the capture has not seen begin.
            WHEN k.is_aligned AND (t.origin = 'nvtx' OR r.before_ns IS NOT NULL)
                -- Without a range, or earlier work, these are NULL and left out.
                THEN least(t.start_ns, greatest(t.host_start_ns, r.before_ns))
            ELSE t.start_ns
        END AS begin_ns
    FROM tiled AS t
    LEFT JOIN around AS r USING (device_key)
    LEFT JOIN clock_check AS k USING (device_key)
    WINDOW in_order AS (PARTITION BY t.device_key ORDER BY t.place)
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
        WHEN is_cut_off THEN 'cut off'
        WHEN origin = 'training log' AND (is_at_begin OR is_at_end) THEN 'cut off'
        -- Only steps at the beginning: a slow step later is a finding.
        WHEN bool_and(is_slow) OVER (
            PARTITION BY device_key ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) THEN 'warm-up'
    END AS exclusion,
    CASE WHEN is_at_begin THEN start_ns - begin_ns ELSE 0 END AS lead_in_ns
FROM judged
