-- How far telemetry without a common clock must be shifted to fit a capture: the lag at
-- which the use that was sampled correlates best with how busy the capture's device was.
-- It is refused when the correlation is weak, or when another lag fits nearly as well, as
-- with a job of equal steps.
-- Grain: one row per (device_key, telemetry_key).
--
-- device_key   See traced_device.
-- telemetry_key  See telemetry_gpu.
-- offset_ns    To add to the telemetry's times to get the capture's, exact to a sample's
--              length; NULL when refused.
-- confidence   Correlation at that lag; NULL when refused.
-- best_correlation  Best correlation of any lag.
-- second_correlation  Best one of a lag that is not next to it; NULL with none.
-- bin_count    Samples that the capture spans.
-- reason       Why it was refused; NULL when it was not.
WITH pair AS MATERIALIZED (
    SELECT p.device_key, p.telemetry_key, d.gpu_key, d.run_id, d.source_id
    FROM telemetry_device AS p
    JOIN traced_device AS d USING (device_key)
    JOIN telemetry_gpu AS g USING (telemetry_key)
    LEFT JOIN source_clock AS c ON c.run_id = d.run_id AND c.source_id = d.source_id
    WHERE c.clock IS NULL OR g.clock IS NULL OR c.clock <> g.clock
),
used AS MATERIALIZED (
    SELECT
        p.device_key, p.telemetry_key, r.usual_ns,
        (r.ts_ns // r.usual_ns)::BIGINT AS place,
        avg(coalesce(r.sm_active_share, r.gpu_util_share)) AS value
    FROM pair AS p
    JOIN gpu_round AS r USING (telemetry_key)
    WHERE r.ts_ns IS NOT NULL
        AND r.usual_ns > 0
        AND coalesce(r.sm_active_share, r.gpu_util_share) IS NOT NULL
    GROUP BY ALL
),
grid AS (
    SELECT device_key, telemetry_key, any_value(usual_ns) AS width_ns
    FROM used
    GROUP BY device_key, telemetry_key
),
spanned AS (
    SELECT
        g.device_key, g.telemetry_key, g.width_ns, d.gpu_key, t.start_ns, t.end_ns
    FROM grid AS g
    JOIN traced_device AS d USING (device_key)
    JOIN device_time AS t USING (device_key)
),
bin AS (
    SELECT
        *,
        unnest(range(start_ns // width_ns, (end_ns - 1) // width_ns + 1)) AS bin
    FROM spanned
),
-- The idle time of each bin, from the idle intervals of the GPU.
holed AS (
    SELECT
        s.device_key, s.telemetry_key, s.width_ns, i.start_ns, i.end_ns,
        unnest(range(i.start_ns // s.width_ns, (i.end_ns - 1) // s.width_ns + 1)) AS bin
    FROM spanned AS s
    JOIN idle_interval AS i USING (gpu_key)
    WHERE i.end_ns > i.start_ns
),
idle AS (
    SELECT
        device_key, telemetry_key, bin,
        sum(least(end_ns, (bin + 1) * width_ns) - greatest(start_ns, bin * width_ns))
            AS idle_ns
    FROM holed
    GROUP BY device_key, telemetry_key, bin
),
busy AS MATERIALIZED (
    SELECT
        b.device_key, b.telemetry_key, b.width_ns, b.bin,
        1 - coalesce(i.idle_ns, 0) / (
            least(b.end_ns, (b.bin + 1) * b.width_ns)
            - greatest(b.start_ns, b.bin * b.width_ns)
        ) AS value,
        count(*) OVER (PARTITION BY b.device_key, b.telemetry_key) AS bin_count
    FROM bin AS b
    LEFT JOIN idle AS i USING (device_key, telemetry_key, bin)
),
correlated AS (
    SELECT
        b.device_key, b.telemetry_key,
        b.bin - u.place AS lag_bins,
        any_value(b.width_ns) AS width_ns,
        any_value(b.bin_count) AS bin_count,
        corr(b.value, u.value) AS correlation
    FROM busy AS b
    JOIN used AS u USING (device_key, telemetry_key)
    GROUP BY b.device_key, b.telemetry_key, b.bin - u.place
    -- The capture must lie within the telemetry, but for a bin cut off at its ends.
    HAVING count(*) >= any_value(b.bin_count) - 2
),
best AS (
    SELECT
        device_key, telemetry_key,
        any_value(width_ns) AS width_ns,
        any_value(bin_count) AS bin_count,
        arg_max(lag_bins, correlation) AS lag_bins,
        max(correlation) AS correlation
    FROM correlated
    WHERE isfinite(correlation)
    GROUP BY device_key, telemetry_key
),
compared AS (
    SELECT
        b.*,
        (
            SELECT max(c.correlation)
            FROM correlated AS c
            WHERE c.device_key = b.device_key
                AND c.telemetry_key = b.telemetry_key
                AND abs(c.lag_bins - b.lag_bins) > 1
                AND isfinite(c.correlation)
        ) AS second_correlation
    FROM best AS b
),
judged AS (
    SELECT
        g.device_key,
        g.telemetry_key,
        c.width_ns, c.lag_bins, c.correlation, c.second_correlation,
        coalesce(c.bin_count, n.bin_count, 0) AS bin_count,
        CASE
            WHEN coalesce(c.bin_count, n.bin_count, 0)
                < threshold_of('lag_bin_count')
                THEN 'the capture spans too few samples of the telemetry'
            WHEN c.correlation IS NULL
                THEN 'the capture is busy all along, or longer than the telemetry'
            WHEN c.correlation < threshold_of('lag_correlation_share')
                THEN 'no lag fits'
            WHEN c.second_correlation
                > c.correlation - threshold_of('lag_margin_share')
                THEN 'several lags fit nearly as well'
        END AS reason
    FROM grid AS g
    LEFT JOIN compared AS c USING (device_key, telemetry_key)
    LEFT JOIN (
        SELECT DISTINCT device_key, telemetry_key, bin_count FROM busy
    ) AS n USING (device_key, telemetry_key)
)
SELECT
    device_key,
    telemetry_key,
    CASE WHEN reason IS NULL THEN lag_bins * width_ns END AS offset_ns,
    CASE WHEN reason IS NULL THEN correlation END AS confidence,
    correlation AS best_correlation,
    second_correlation,
    bin_count,
    reason
FROM judged
