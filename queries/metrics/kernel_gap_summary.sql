-- Idle time of each physical GPU between its activities: how much, how often, how long.
-- Grain: one row per (run_id, host, gpu_id, source_id).
-- Better: lower.
-- Value: gap_share, idle_share.
--
-- run_id         Run.
-- host           Host; NULL when the trace does not say.
-- rank           Global rank; NULL when unknown, or when several processes share the GPU.
-- device_id      CUDA ordinal; NULL when processes that share the GPU number it
--                differently.
-- process        Process id; NULL when several share the GPU.
-- gpu_id         Physical GPU.
-- gap_count      Gaps of at least threshold kernel_gap_ns.
-- gap_ns         Their total.
-- gap_share      Their total / span of the GPU.
-- idle_count     Idle intervals of any length.
-- idle_ns        Their total: the span less everything that ran.
-- idle_share     Their total / span.
-- min_ns         Shortest idle interval.
-- median_ns      Median idle interval.
-- p90_ns         90th percentile.
-- p99_ns         99th percentile.
-- max_ns         Longest.
-- histogram      Idle intervals by length: {lower_ns: power of two, idle_count, idle_ns}.
-- source_id      Source file.
WITH gpu AS (
    SELECT
        gpu_key,
        any_value(run_id) AS run_id,
        any_value(host) AS host,
        CASE WHEN count(*) = 1 THEN any_value(rank) END AS rank,
        CASE WHEN count(DISTINCT device_id) = 1 THEN any_value(device_id) END
            AS device_id,
        CASE WHEN count(*) = 1 THEN any_value(process) END AS process,
        any_value(gpu_id) AS gpu_id,
        any_value(source_id) AS source_id
    FROM traced_device
    GROUP BY gpu_key
),
span AS (
    SELECT gpu_key, max(end_ns) - min(start_ns) AS span_ns
    FROM activity
    GROUP BY gpu_key
),
-- The value of a power of two, by integer arithmetic: a logarithm could round the wrong
-- way.
idle AS (
    SELECT gpu_key, dur_ns, (1::BIGINT << (length(bin(dur_ns)) - 1)::INTEGER) AS lower_ns
    FROM idle_interval
),
bucket AS (
    SELECT gpu_key, lower_ns, count(*) AS idle_count, sum(dur_ns)::BIGINT AS idle_ns
    FROM idle
    GROUP BY gpu_key, lower_ns
),
histogram AS (
    SELECT
        gpu_key,
        list({'lower_ns': lower_ns, 'idle_count': idle_count, 'idle_ns': idle_ns}
            ORDER BY lower_ns) AS histogram
    FROM bucket
    GROUP BY gpu_key
),
total AS (
    SELECT
        gpu_key,
        count(*) FILTER (dur_ns >= threshold_of('kernel_gap_ns')) AS gap_count,
        coalesce(sum(dur_ns) FILTER (dur_ns >= threshold_of('kernel_gap_ns')), 0)::BIGINT
            AS gap_ns,
        count(*) AS idle_count,
        sum(dur_ns)::BIGINT AS idle_ns,
        min(dur_ns) AS min_ns,
        quantile_cont(dur_ns, [0.5, 0.9, 0.99]) AS quantiles,
        max(dur_ns) AS max_ns
    FROM idle
    GROUP BY gpu_key
)
SELECT
    g.run_id,
    g.host,
    g.rank,
    g.device_id,
    g.process,
    g.gpu_id,
    coalesce(t.gap_count, 0) AS gap_count,
    coalesce(t.gap_ns, 0) AS gap_ns,
    coalesce(share_of(t.gap_ns, s.span_ns), 0) AS gap_share,
    coalesce(t.idle_count, 0) AS idle_count,
    coalesce(t.idle_ns, 0) AS idle_ns,
    coalesce(share_of(t.idle_ns, s.span_ns), 0) AS idle_share,
    t.min_ns,
    t.quantiles[1] AS median_ns,
    t.quantiles[2] AS p90_ns,
    t.quantiles[3] AS p99_ns,
    t.max_ns,
    coalesce(h.histogram, []) AS histogram,
    g.source_id
FROM gpu AS g
JOIN span AS s USING (gpu_key)
LEFT JOIN total AS t USING (gpu_key)
LEFT JOIN histogram AS h USING (gpu_key)
ORDER BY g.run_id, g.host, g.rank, g.gpu_id, g.source_id
