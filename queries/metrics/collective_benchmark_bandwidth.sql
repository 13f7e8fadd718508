-- Every point of collective benchmarks against the nominal busbw of the link it crossed.
-- Messages below the fitted half-time size of their curve are limited by latency.
-- Grain: one row per (run_id, source_id, subject_id).
--
-- run_id        Run.
-- source_id     Source file.
-- subject_kind  collective benchmark.
-- subject_id    Number of the point within its file.
-- host          Hosts, where there is only one; NULL otherwise or when not told.
-- rank          NULL: all ranks of it together.
-- device_id     NULL.
-- gpu_id        NULL.
-- name          Operation.
-- conditions    Size of the message, ranks, hosts, placement.
-- subject_count  Rows of the log: more than one where types or ranks repeat a size.
-- bytes         Message by which algbw is defined.
-- dur_ns        Time of one operation.
-- bytes_per_s   Busbw, as the benchmark prints it.
-- reference_bytes_per_s  Busbw of the nominal link; NULL when not known.
-- reference_source  What it rests on.
-- candidates    NULL.
-- stated_share  NULL.
-- low_share     Below this share it is low.
-- confidence    medium: NVLS, SHARP and trees may exceed a nominal link.
-- reason        Why there is no efficiency; else NULL.
WITH referred AS (
    SELECT
        p.*,
        n.name AS nominal_name,
        n.bytes_per_s AS nominal_bytes_per_s,
        n.reason AS why_not,
        coalesce(c.half_bytes, threshold_of('message_floor_bytes')) AS floor_bytes
    FROM benchmark_point AS p
    LEFT JOIN nominal_busbw AS n
        ON n.run_id = p.run_id
        AND n.operation = p.operation
        AND n.rank_count IS NOT DISTINCT FROM p.rank_count
        AND n.host_count IS NOT DISTINCT FROM p.host_count
        AND n.gpu IS NOT DISTINCT FROM p.gpu
    LEFT JOIN collective_curve AS c
        ON c.run_id = p.run_id
        AND c.source_id = p.source_id
        AND c.benchmark_id = p.benchmark_id
        AND c.sweep = p.sweep
        AND c.is_in_place IS NOT DISTINCT FROM p.is_in_place
)
SELECT
    run_id,
    source_id,
    'collective benchmark' AS subject_kind,
    row_number() OVER (
        PARTITION BY run_id, source_id
        ORDER BY benchmark_id, sweep, is_in_place, size_bytes
    ) AS subject_id,
    CASE WHEN len(hosts) = 1 THEN hosts[1] END AS host,
    NULL::INTEGER AS rank,
    NULL::INTEGER AS device_id,
    NULL::VARCHAR AS gpu_id,
    operation AS name,
    concat_ws(
        ', ', size_bytes || ' bytes', rank_count || ' ranks', host_count || ' hosts',
        CASE WHEN is_in_place THEN 'in place' WHEN NOT is_in_place THEN 'out of place' END
    ) AS conditions,
    row_count AS subject_count,
    size_bytes AS bytes,
    round(time_ns)::BIGINT AS dur_ns,
    busbw_bytes_per_s AS bytes_per_s,
    nominal_bytes_per_s AS reference_bytes_per_s,
    'nominal: ' || nominal_name AS reference_source,
    NULL::VARCHAR AS candidates,
    NULL::DOUBLE AS stated_share,
    CASE WHEN size_bytes >= threshold_of('nominal_floor_bytes')
        THEN threshold_of('link_low_share') END AS low_share,
    CASE WHEN nominal_bytes_per_s IS NOT NULL THEN 'medium' END AS confidence,
    CASE
        WHEN size_bytes < floor_bytes THEN 'small message: its latency limits it'
        WHEN nominal_bytes_per_s IS NULL
            THEN coalesce(why_not, 'the nominal link is not known')
        WHEN busbw_bytes_per_s > nominal_bytes_per_s
            THEN 'beyond the nominal link: NVLS, SHARP or trees, or another link'
    END AS reason
FROM referred
ORDER BY run_id, source_id, subject_id
