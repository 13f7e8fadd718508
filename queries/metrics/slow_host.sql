-- Which host makes sets of hosts slow, by comparing benchmarks of the same operation,
-- size and layout on different sets: a host that is in every slow set and in no healthy
-- one. Sets are those of nccl-tests, and the pairs of perftest. Each set is judged by its
-- median at the largest size that all sets measured, a pair by its slower direction.
-- Grain: one row per (run_id, operation, host).
--
-- run_id         Run.
-- operation      Collective, or test of perftest.
-- host           Host; an address where run.toml says no host of it.
-- set_count      Sets of hosts that it is in.
-- slow_count     Of these, below threshold baseline_low_share of the best of its layout.
-- healthy_count  The others.
-- run_slow_count  Slow sets of the run, with or without it.
-- median_busbw_bytes_per_s  Median over its sets; of perftest the average bandwidth.
-- best_busbw_bytes_per_s  Best set of its layouts.
-- verdict        slow: alone in every slow set, two at least, and in no healthy one;
--                suspect: in slow sets only, but others may be it: more sets would tell;
--                link: it is healthy in other sets, but each host of a slow set is, so
--                what lies between is slow; healthy; cannot tell: no healthy set.
-- slow_sets      Slow sets that it is in; NULL when none.
WITH pair AS (
    SELECT
        b.*,
        b.test || CASE WHEN b.is_bidirectional THEN ', both directions' ELSE '' END
            AS operation,
        concat_ws(' ', b.connection_type, b.queue_pair_count, b.mtu_bytes,
            CASE WHEN b.cuda_device_id IS NOT NULL THEN 'GPU memory' END) AS layout,
        coalesce(b.source_host, s.host, b.source) AS source_name,
        coalesce(b.destination_host, d.host, b.destination) AS destination_name
    FROM link_benchmark AS b
    LEFT JOIN host_address AS s ON s.run_id = b.run_id AND s.address = b.source
    LEFT JOIN host_address AS d ON d.run_id = b.run_id AND d.address = b.destination
    WHERE b.tool = 'perftest'
        AND b.kind = 'bandwidth'
        AND b.test IS NOT NULL
        AND b.bandwidth_bytes_per_s > 0
        AND b.size_bytes >= threshold_of('network_floor_bytes')
),
-- Of several tests the median; adapters and directions are paths of their own.
path AS (
    SELECT
        run_id, operation, layout, size_bytes,
        list_sort([source_name, destination_name]) AS hosts,
        median(bandwidth_bytes_per_s) AS bandwidth_bytes_per_s
    FROM pair
    WHERE source_name <> destination_name
    GROUP BY
        run_id, operation, layout, size_bytes, source_name, destination_name, device
),
point AS (
    SELECT
        run_id, operation, rank_count, host_count, NULL AS layout, is_in_place,
        size_bytes, hosts, median(busbw_bytes_per_s) AS busbw_bytes_per_s
    FROM benchmark_point
    WHERE hosts IS NOT NULL
    GROUP BY
        run_id, operation, rank_count, host_count, is_in_place, size_bytes, hosts
    UNION ALL
    SELECT
        run_id, operation, NULL, 2, layout, NULL, size_bytes, hosts,
        min(bandwidth_bytes_per_s)
    FROM path
    GROUP BY run_id, operation, layout, size_bytes, hosts
),
covered AS (
    SELECT
        *,
        count(*) OVER size_of_layout AS set_count,
        max(busbw_bytes_per_s) OVER size_of_layout AS best_bytes_per_s
    FROM point
    WINDOW size_of_layout AS (
        PARTITION BY
            run_id, operation, rank_count, host_count, layout, is_in_place, size_bytes
    )
),
-- One number per set: at the size that most sets have, the largest of these.
measured AS (
    SELECT *
    FROM covered
    WHERE set_count > 1
    QUALIFY dense_rank() OVER (
        PARTITION BY run_id, operation, rank_count, host_count, layout
        ORDER BY set_count DESC, size_bytes DESC, is_in_place NULLS LAST
    ) = 1
),
judged AS (
    SELECT
        *,
        busbw_bytes_per_s < threshold_of('baseline_low_share') * best_bytes_per_s
            AS is_slow
    FROM measured
),
membership AS (
    SELECT *, unnest(hosts) AS host FROM judged
),
host AS (
    SELECT
        run_id, operation, host,
        count(DISTINCT hosts) AS set_count,
        count(DISTINCT hosts) FILTER (is_slow) AS slow_count,
        count(DISTINCT hosts) FILTER (NOT is_slow) AS healthy_count,
        median(busbw_bytes_per_s) AS median_bytes_per_s,
        max(best_bytes_per_s) AS best_bytes_per_s,
        string_agg(DISTINCT array_to_string(hosts, ' '), '; '
            ORDER BY array_to_string(hosts, ' ')) FILTER (is_slow) AS slow_sets
    FROM membership
    GROUP BY run_id, operation, host
),
job AS (
    SELECT
        run_id, operation,
        count(DISTINCT hosts) FILTER (is_slow) AS slow_count,
        count(DISTINCT hosts) FILTER (NOT is_slow) AS healthy_count
    FROM judged
    GROUP BY run_id, operation
),
suspected AS (
    SELECT
        h.*,
        j.slow_count AS run_slow_count,
        j.healthy_count AS run_healthy_count,
        h.slow_count = j.slow_count AND h.slow_count > 0 AND h.healthy_count = 0
            AS is_common
    FROM host AS h
    JOIN job AS j USING (run_id, operation)
),
-- A slow set each of whose hosts is healthy elsewhere.
between_hosts AS (
    SELECT DISTINCT m.run_id, m.operation, m.hosts
    FROM membership AS m
    JOIN host AS h USING (run_id, operation, host)
    WHERE m.is_slow
    GROUP BY m.run_id, m.operation, m.hosts
    HAVING min(h.healthy_count) > 0
),
linked AS (
    SELECT DISTINCT run_id, operation, unnest(hosts) AS host FROM between_hosts
)
SELECT
    s.run_id,
    s.operation,
    s.host,
    s.set_count,
    s.slow_count,
    s.healthy_count,
    s.run_slow_count,
    s.median_bytes_per_s AS median_busbw_bytes_per_s,
    s.best_bytes_per_s AS best_busbw_bytes_per_s,
    CASE
        WHEN s.run_healthy_count = 0 THEN 'cannot tell'
        -- One slow pair alone may be the link between its two.
        WHEN s.is_common AND s.run_slow_count > 1 AND count(*) FILTER (s.is_common) OVER (
            PARTITION BY s.run_id, s.operation) = 1 THEN 'slow'
        WHEN s.healthy_count = 0 AND s.slow_count > 0 THEN 'suspect'
        WHEN l.host IS NOT NULL THEN 'link'
        ELSE 'healthy'
    END AS verdict,
    s.slow_sets
FROM suspected AS s
LEFT JOIN linked AS l
    ON l.run_id = s.run_id AND l.operation = s.operation AND l.host = s.host
ORDER BY run_id, operation, host
