-- Health of each curve that a collective benchmark measured: plateau, latency and
-- asymptotic bandwidth (time = latency + size / bandwidth, fitted by relative error, so
-- that small and large messages count alike), and sizes at which bandwidth collapses.
-- Grain: one row per (run_id, source_id, benchmark_id, sweep, is_in_place).
-- Better: higher.
-- Value: peak_busbw_bytes_per_s, plateau_busbw_bytes_per_s, latency_ns lower.
-- Key: operation, rank_count, host_count, is_in_place.
-- Samples: point_count.
--
-- run_id        Run.
-- source_id     Source file.
-- benchmark_id  Test in its file.
-- sweep         Pass over the sizes.
-- is_in_place   Whether buffers are the same; NULL when nothing says it.
-- operation     Collective.
-- rank_count    Ranks; NULL when not known.
-- host_count    Hosts; NULL when the list of ranks is not whole.
-- hosts         Their names, sorted; NULL when not told.
-- gpu_name      Product name of its GPUs.
-- point_count   Sizes.
-- min_bytes     Smallest size.
-- max_bytes     Largest size.
-- peak_busbw_bytes_per_s  Highest busbw of the table.
-- peak_bytes    Its size.
-- plateau_busbw_bytes_per_s  Median of the sizes that reach threshold curve_plateau_share
--               of the peak.
-- plateau_min_bytes  Smallest of these.
-- has_plateau   Whether the two largest sizes are both on it: else the sweep ended while
--               bandwidth still grew, or it collapsed.
-- latency_ns    Fitted; NULL with fewer than 4 sizes or where the fit gives none.
-- asymptotic_busbw_bytes_per_s  Fitted bandwidth of endless messages; NULL likewise.
-- residual_share  Root mean square of (measured - fitted) / measured time.
-- half_bytes    Size at which latency takes half of the time: below it messages are
--               latency bound.
-- collapse_count  Sizes in collective_curve_dip.
-- measured_local_ns  When; NULL when not told.
-- verdict       healthy; collapse: bandwidth fell and stayed low; dip: at single sizes;
--               no plateau; too few sizes.
WITH point AS MATERIALIZED (FROM benchmark_point),
-- Weighted by 1 / time^2: least squares of the relative error. Scaled by the sizes and
-- times of each curve, so that sums of squares keep their digits.
scaled AS (
    SELECT
        *,
        size_bytes / max(size_bytes) OVER curve AS x,
        time_ns / max(time_ns) OVER curve AS y,
        max(busbw_bytes_per_s) OVER curve AS peak,
        max(size_bytes) OVER curve AS max_size,
        max(time_ns) OVER curve AS max_time_ns,
        row_number() OVER (
            PARTITION BY run_id, source_id, benchmark_id, sweep, is_in_place
            ORDER BY size_bytes DESC
        ) AS place_from_end
    FROM point
    WINDOW curve AS (
        PARTITION BY run_id, source_id, benchmark_id, sweep, is_in_place
    )
),
summed AS (
    SELECT
        run_id, source_id, benchmark_id, sweep, is_in_place,
        any_value(operation) AS operation,
        any_value(rank_count) AS rank_count,
        any_value(host_count) AS host_count,
        any_value(hosts) AS hosts,
        any_value(gpu_name) AS gpu_name,
        any_value(factor) AS factor,
        count(*) AS point_count,
        min(size_bytes) AS min_bytes,
        max(size_bytes) AS max_bytes,
        max(peak) AS peak,
        arg_max(size_bytes, (busbw_bytes_per_s, size_bytes)) AS peak_bytes,
        median(busbw_bytes_per_s) FILTER (
            busbw_bytes_per_s >= threshold_of('curve_plateau_share') * peak) AS plateau,
        min(size_bytes) FILTER (
            busbw_bytes_per_s >= threshold_of('curve_plateau_share') * peak)
            AS plateau_min_bytes,
        count(*) FILTER (
            place_from_end <= 2
            AND busbw_bytes_per_s >= threshold_of('curve_plateau_share') * peak) = 2
            AS has_plateau,
        any_value(max_size) AS max_size,
        any_value(max_time_ns) AS max_time_ns,
        sum(1 / (y * y)) AS w,
        sum(x / (y * y)) AS wx,
        sum(x * x / (y * y)) AS wxx,
        sum(1 / y) AS wy,
        sum(x / y) AS wxy,
        min(measured_local_ns) AS measured_local_ns
    FROM scaled
    GROUP BY run_id, source_id, benchmark_id, sweep, is_in_place
),
fitted AS (
    SELECT
        *,
        (wxx * wy - wx * wxy) / nullif(w * wxx - wx * wx, 0) AS intercept,
        (w * wxy - wx * wy) / nullif(w * wxx - wx * wx, 0) AS slope
    FROM summed
),
judged AS (
    SELECT
        f.*,
        -- Sum of squares of 1 - fitted / measured.
        point_count - 2 * (intercept * wy + slope * wxy) + intercept * intercept * w
            + 2 * intercept * slope * wx + slope * slope * wxx AS square_sum,
        point_count >= 4 AND intercept > 0 AND slope > 0 AS is_fitted
    FROM fitted AS f
),
dip AS (
    SELECT
        run_id, source_id, benchmark_id, sweep, is_in_place,
        count(*) AS collapse_count,
        bool_or(kind = 'collapse') AS is_collapsed
    FROM collective_curve_dip
    GROUP BY run_id, source_id, benchmark_id, sweep, is_in_place
)
SELECT
    j.run_id,
    j.source_id,
    j.benchmark_id,
    j.sweep,
    j.is_in_place,
    j.operation,
    j.rank_count,
    j.host_count,
    j.hosts,
    j.gpu_name,
    j.point_count,
    j.min_bytes,
    j.max_bytes,
    j.peak AS peak_busbw_bytes_per_s,
    j.peak_bytes,
    j.plateau AS plateau_busbw_bytes_per_s,
    j.plateau_min_bytes,
    j.has_plateau,
    CASE WHEN j.is_fitted THEN j.intercept * j.max_time_ns END AS latency_ns,
    CASE WHEN j.is_fitted THEN j.factor * j.max_size * 1e9 / (j.slope * j.max_time_ns) END
        AS asymptotic_busbw_bytes_per_s,
    CASE WHEN j.is_fitted
        THEN sqrt(CASE WHEN j.square_sum > 0 THEN j.square_sum ELSE 0 END / j.point_count)
        END AS residual_share,
    CASE WHEN j.is_fitted THEN round(j.intercept / j.slope * j.max_size)::BIGINT END
        AS half_bytes,
    coalesce(d.collapse_count, 0) AS collapse_count,
    j.measured_local_ns,
    CASE
        WHEN d.is_collapsed THEN 'collapse'
        WHEN d.collapse_count > 0 THEN 'dip'
        WHEN j.point_count < 4 THEN 'too few sizes'
        WHEN NOT j.has_plateau THEN 'no plateau'
        ELSE 'healthy'
    END AS verdict
FROM judged AS j
LEFT JOIN dip AS d
    ON d.run_id = j.run_id
    AND d.source_id = j.source_id
    AND d.benchmark_id = j.benchmark_id
    AND d.sweep = j.sweep
    AND d.is_in_place IS NOT DISTINCT FROM j.is_in_place
ORDER BY run_id, source_id, benchmark_id, sweep, is_in_place
