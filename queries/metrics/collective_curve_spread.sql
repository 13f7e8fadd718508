-- How far benchmarks of one kind, size and layout differ from each other: between repeats
-- on the same hosts, which should agree, and between sets of hosts.
-- Grain: one row per (run_id, operation, rank_count, host_count, is_in_place, size_bytes,
--   hosts).
-- Better: lower.
-- Value: spread_share.
--
-- run_id        Run.
-- operation     Collective.
-- rank_count    Ranks; NULL when not known.
-- host_count    Hosts; NULL when the list of ranks is not whole.
-- is_in_place   Whether buffers are the same; NULL when nothing says it.
-- size_bytes    Message.
-- hosts         Names of the hosts of these repeats; NULL for all sets of hosts together.
-- set_count     Sets of hosts.
-- curve_count   Measurements.
-- lowest_busbw_bytes_per_s   Lowest of them.
-- median_busbw_bytes_per_s   Median.
-- highest_busbw_bytes_per_s  Highest.
-- spread_share  (highest - lowest) / median.
-- gap_share     Widest gap between neighbours / median.
-- is_bimodal    Whether that gap, at least threshold curve_gap_share, parts them into two
--               groups of two or more that are each narrower than half of it.
-- lowest_hosts  Hosts of the lowest; NULL when not told.
-- lowest_source_id  Its source file.
WITH pooled AS (
    SELECT
        run_id, source_id, benchmark_id, sweep, operation, rank_count, host_count,
        is_in_place, size_bytes, busbw_bytes_per_s,
        array_to_string(hosts, ' ') AS own_hosts,
        unnest(CASE WHEN hosts IS NULL THEN [NULL]
            ELSE [NULL, array_to_string(hosts, ' ')] END) AS hosts
    FROM benchmark_point
),
sorted AS (
    SELECT
        *,
        busbw_bytes_per_s - lag(busbw_bytes_per_s) OVER alike AS gap,
        row_number() OVER alike AS place
    FROM pooled
    WINDOW alike AS (
        PARTITION BY
            run_id, operation, rank_count, host_count, is_in_place, size_bytes, hosts
        ORDER BY busbw_bytes_per_s, source_id, benchmark_id, sweep
    )
),
parted AS (
    SELECT
        *,
        arg_max(place, (gap, place)) FILTER (gap IS NOT NULL) OVER alike AS cut_place,
        max(gap) OVER alike AS widest_gap
    FROM sorted
    WINDOW alike AS (
        PARTITION BY
            run_id, operation, rank_count, host_count, is_in_place, size_bytes, hosts
    )
),
summed AS (
    SELECT
        run_id, operation, rank_count, host_count, is_in_place, size_bytes, hosts,
        count(DISTINCT own_hosts) AS set_count,
        count(*) AS curve_count,
        min(busbw_bytes_per_s) AS lowest,
        median(busbw_bytes_per_s) AS middle,
        max(busbw_bytes_per_s) AS highest,
        any_value(widest_gap) AS widest_gap,
        count(*) FILTER (place < cut_place) AS below_count,
        count(*) FILTER (place >= cut_place) AS above_count,
        max(busbw_bytes_per_s) FILTER (place < cut_place) AS below_highest,
        min(busbw_bytes_per_s) FILTER (place >= cut_place) AS above_lowest,
        arg_min(own_hosts, (busbw_bytes_per_s, source_id)) AS lowest_hosts,
        arg_min(source_id, (busbw_bytes_per_s, source_id)) AS lowest_source_id
    FROM parted
    GROUP BY run_id, operation, rank_count, host_count, is_in_place, size_bytes, hosts
    HAVING count(*) > 1
)
SELECT
    run_id,
    operation,
    rank_count,
    host_count,
    is_in_place,
    size_bytes,
    hosts,
    set_count,
    curve_count,
    lowest AS lowest_busbw_bytes_per_s,
    middle AS median_busbw_bytes_per_s,
    highest AS highest_busbw_bytes_per_s,
    (highest - lowest) / middle AS spread_share,
    widest_gap / middle AS gap_share,
    widest_gap / middle >= threshold_of('curve_gap_share')
        AND below_count >= 2
        AND above_count >= 2
        AND below_highest - lowest < widest_gap / 2
        AND highest - above_lowest < widest_gap / 2 AS is_bimodal,
    lowest_hosts,
    lowest_source_id
FROM summed
ORDER BY run_id, operation, rank_count, host_count, is_in_place, size_bytes, hosts
