-- PCIe links below the generation or width that they could have, while their GPU had
-- work: an idle link may go down to generation 1. The best is what the GPU and host
-- report, else the best under load of GPUs of the same product. Most samples are below
-- it, or many in a row: a link that falls in the middle of the run.
-- Grain: one row per (telemetry_key, what).
--
-- telemetry_key  See telemetry_gpu.
-- what         generation or width.
-- metric       Metric that tells it.
-- usual_value  Median of the samples below the best.
-- best_value   What it could be.
-- load_count   Samples under load.
-- low_count    Those below the best.
-- first_ns     First of them, ns since the source's capture start; NULL where not known.
-- last_ns      Last of them.
-- first_tick   First round, of a source without a clock.
-- is_at_start  Whether the first sample under load is one of them.
WITH linked AS (
    SELECT
        g.telemetry_key, g.run_id, g.gpu_name, s.ts_ns, s.tick, s.metric, s.value,
        CASE WHEN s.metric LIKE '%gen' THEN 'generation' ELSE 'width' END AS what,
        s.metric LIKE 'max%' AS is_best
    FROM gpu_sample AS s
    JOIN telemetry_gpu AS g
        ON g.run_id = s.run_id
        AND g.source_id = s.source_id
        AND g.gpu_id = s.gpu_id
        AND g.told_host IS NOT DISTINCT FROM s.host
    WHERE s.entity = 'gpu'
        AND s.value > 0
        AND s.metric IN (
            'pcie_link_gen', 'pcie_link_width', 'max_pcie_link_gen',
            'max_pcie_link_width'
        )
),
reported AS (
    SELECT telemetry_key, what, max(value) AS best_value
    FROM linked
    WHERE is_best
    GROUP BY telemetry_key, what
),
loaded AS (
    SELECT l.*
    FROM linked AS l
    JOIN gpu_round AS r
        ON r.telemetry_key = l.telemetry_key
        AND r.ts_ns IS NOT DISTINCT FROM l.ts_ns
        AND r.tick IS NOT DISTINCT FROM l.tick
    WHERE NOT l.is_best AND r.is_active
),
peer AS (
    SELECT run_id, gpu_name, what, max(value) AS best_value
    FROM loaded
    GROUP BY run_id, gpu_name, what
),
compared AS (
    SELECT
        l.telemetry_key, l.what, l.metric, l.ts_ns, l.tick, l.value,
        coalesce(r.best_value, p.best_value) AS best_value
    FROM loaded AS l
    LEFT JOIN reported AS r USING (telemetry_key, what)
    JOIN peer AS p
        ON p.run_id = l.run_id
        AND p.gpu_name IS NOT DISTINCT FROM l.gpu_name
        AND p.what = l.what
),
-- Low samples in a row have as many high ones before them.
counted AS (
    SELECT
        *,
        count(*) FILTER (value >= best_value) OVER (
            PARTITION BY telemetry_key, what ORDER BY ts_ns, tick
        ) AS stretch
    FROM compared
),
lasted AS (
    SELECT telemetry_key, what, max(low_count) AS longest_count
    FROM (
        SELECT telemetry_key, what, stretch, count(*) AS low_count
        FROM counted
        WHERE value < best_value
        GROUP BY telemetry_key, what, stretch
    )
    GROUP BY telemetry_key, what
),
gathered AS (
    SELECT
        telemetry_key,
        what,
        metric,
        quantile_disc(value, 0.5) FILTER (value < best_value) AS usual_value,
        max(best_value) AS best_value,
        count(*) AS load_count,
        count(*) FILTER (value < best_value) AS low_count,
        min(ts_ns) FILTER (value < best_value) AS first_ns,
        max(ts_ns) FILTER (value < best_value) AS last_ns,
        min(tick) FILTER (value < best_value) AS first_tick,
        arg_min(value < best_value, coalesce(ts_ns, tick)) AS is_at_start
    FROM compared
    GROUP BY telemetry_key, what, metric
)
SELECT
    telemetry_key,
    what,
    metric,
    usual_value,
    best_value,
    load_count,
    low_count,
    first_ns,
    last_ns,
    first_tick,
    is_at_start
FROM gathered
JOIN lasted USING (telemetry_key, what)
WHERE (
        low_count >= threshold_of('degraded_link_share') * load_count
        AND low_count >= threshold_of('throttle_sample_count')
    )
    OR longest_count >= threshold_of('degraded_link_sample_count')
