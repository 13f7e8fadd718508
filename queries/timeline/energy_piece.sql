-- Energy of each GPU between two samples that follow each other: by the counter of its
-- energy, and by its power (mean of both ends times the time between). Where the counter
-- began anew, or samples are too far apart for power, that way has none. A counter that
-- is blank for some samples grew evenly between those that have it. Of several files
-- that tell of a GPU, the longest counts.
-- Grain: one row per (telemetry_key, end_ns).
--
-- telemetry_key  See telemetry_gpu.
-- start_ns     Earlier sample, ns since the source's capture start.
-- end_ns       Later sample.
-- counted_j    By the counter; NULL after a reset, and without a counter.
-- integral_j   By power; NULL across a gap, and without power.
-- is_active    Whether the GPU had work at the earlier sample; NULL where nothing
--              says it.
WITH counted AS (
    SELECT
        g.telemetry_key,
        s.ts_ns,
        max(s.value) AS energy_j
    FROM gpu_sample AS s
    JOIN telemetry_gpu AS g
        ON g.run_id = s.run_id
        AND g.source_id = s.source_id
        AND g.gpu_id = s.gpu_id
        AND g.told_host IS NOT DISTINCT FROM s.host
    WHERE s.entity = 'gpu' AND s.metric = 'energy_j' AND s.ts_ns IS NOT NULL
    GROUP BY g.telemetry_key, s.ts_ns
),
powered AS (
    SELECT
        coalesce(r.telemetry_key, c.telemetry_key) AS telemetry_key,
        coalesce(r.ts_ns, c.ts_ns) AS ts_ns,
        r.power_w, r.is_active, r.usual_ns,
        CASE WHEN c.energy_j IS NOT NULL THEN
            {'energy_j': c.energy_j, 'ts_ns': c.ts_ns} END AS reading
    FROM (FROM gpu_round WHERE ts_ns IS NOT NULL) AS r
    FULL JOIN counted AS c
        ON c.telemetry_key = r.telemetry_key AND c.ts_ns = r.ts_ns
),
followed AS (
    SELECT
        p.telemetry_key,
        p.ts_ns AS start_ns,
        lead(p.ts_ns) OVER series AS end_ns,
        last_value(p.reading IGNORE NULLS) OVER until_now AS before,
        first_value(p.reading IGNORE NULLS) OVER from_next AS after,
        (p.power_w + lead(p.power_w) OVER series) / 2 AS mean_w,
        p.usual_ns,
        p.is_active
    FROM powered AS p
    WINDOW
        series AS (PARTITION BY p.telemetry_key ORDER BY p.ts_ns),
        until_now AS (
            PARTITION BY p.telemetry_key ORDER BY p.ts_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ),
        from_next AS (
            PARTITION BY p.telemetry_key ORDER BY p.ts_ns
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        )
)
SELECT
    f.telemetry_key,
    f.start_ns,
    f.end_ns,
    CASE WHEN f.after.energy_j >= f.before.energy_j
        THEN (f.after.energy_j - f.before.energy_j) * (f.end_ns - f.start_ns)
            / (f.after.ts_ns - f.before.ts_ns) END AS counted_j,
    CASE WHEN f.end_ns - f.start_ns <= threshold_of('sample_gap_ratio') * f.usual_ns
        THEN f.mean_w * (f.end_ns - f.start_ns) / 1e9 END AS integral_j,
    f.is_active
FROM followed AS f
JOIN telemetry_gpu AS g USING (telemetry_key)
WHERE f.end_ns > f.start_ns AND g.is_primary
