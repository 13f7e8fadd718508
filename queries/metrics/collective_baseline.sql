-- What the same cluster measured for the collectives of a job: the busbw of its own
-- nccl-tests curve of that operation on as many ranks and hosts, interpolated in the
-- logarithm of the size. The run that run.toml names counts, else the job's own, else the
-- newest before it. One curve answers: on the same hosts before others, all_reduce in
-- place and others out of place where both were measured, then the newest, the fastest.
-- Grain: one row per (run_id, operation, rank_count, host_count, gpu, message_bytes).
--
-- run_id         Run of the job.
-- operation      Collective.
-- rank_count     Ranks.
-- host_count     Hosts; NULL when not told.
-- gpu            Row of reference table gpu; NULL when not told.
-- message_bytes  Message.
-- busbw_bytes_per_s  Interpolated; beyond the largest size, the one of that.
-- half_bytes     Below it messages are latency bound; see collective_curve.
-- baseline_run_id  Run of the benchmark.
-- baseline_source_id  Its source file.
-- benchmark_id   Test in it.
-- is_in_place    Whether buffers were the same.
-- lower_bytes    Next smaller size measured; NULL below the smallest.
-- upper_bytes    Next larger; NULL beyond the largest.
-- origin         named by run.toml, same run, earlier run, or run of unknown date.
-- confidence     high; medium: hosts of one side not told, or other placement; low:
--                undated, or beyond the largest size.
-- reason         Why there is none; else NULL.
WITH point AS MATERIALIZED (FROM benchmark_point),
curve AS (
    SELECT
        run_id AS baseline_run_id, source_id AS baseline_source_id, benchmark_id, sweep,
        is_in_place,
        any_value(operation) AS operation,
        any_value(rank_count) AS rank_count,
        any_value(host_count) AS host_count,
        any_value(hosts) AS hosts,
        any_value(gpu) AS gpu,
        min(measured_local_ns) AS measured_local_ns,
        max(busbw_bytes_per_s) AS peak
    FROM point
    GROUP BY run_id, source_id, benchmark_id, sweep, is_in_place
),
job AS (
    SELECT
        run_id, operation, rank_count, host_count, gpu, message_bytes,
        any_value(hosts) AS hosts
    FROM collective_instance
    WHERE message_bytes > 0 AND operation IS NOT NULL
    GROUP BY run_id, operation, rank_count, host_count, gpu, message_bytes
),
start AS (
    SELECT run_id, min(start_utc_ns) AS start_utc_ns
    FROM run
    GROUP BY run_id
),
wanted AS (
    SELECT j.*, s.start_utc_ns, f.value_text AS named_run
    FROM job AS j
    LEFT JOIN start AS s ON s.run_id = j.run_id
    LEFT JOIN run_fact AS f ON f.run_id = j.run_id AND f.key = 'baseline.run'
),
offered AS (
    SELECT
        w.run_id, w.operation, w.rank_count, w.host_count, w.gpu, w.message_bytes,
        c.* EXCLUDE (operation, rank_count, host_count, gpu),
        c.host_count = w.host_count AS is_layout_known,
        c.is_in_place = (w.operation = 'all_reduce') AS is_placement_alike,
        c.hosts = w.hosts AS is_same_hosts,
        CASE
            WHEN c.baseline_run_id = w.named_run THEN 'named by run.toml'
            WHEN c.baseline_run_id = w.run_id THEN 'same run'
            WHEN c.measured_local_ns <= w.start_utc_ns THEN 'earlier run'
            ELSE 'run of unknown date'
        END AS origin
    FROM wanted AS w
    JOIN curve AS c
        ON c.operation = w.operation
        AND c.rank_count = w.rank_count
        AND coalesce(c.host_count = w.host_count, true)
        AND coalesce(c.gpu = w.gpu, true)
        AND CASE
            WHEN w.named_run IS NOT NULL THEN c.baseline_run_id = w.named_run
            ELSE c.baseline_run_id = w.run_id
                OR coalesce(c.measured_local_ns <= w.start_utc_ns, true)
        END
),
-- Every order is a preference; the last two only leave nothing open.
chosen AS (
    SELECT *
    FROM offered
    QUALIFY row_number() OVER (
        PARTITION BY run_id, operation, rank_count, host_count, gpu, message_bytes
        ORDER BY
            CASE origin
                WHEN 'named by run.toml' THEN 1
                WHEN 'same run' THEN 2
                WHEN 'earlier run' THEN 3
                ELSE 4
            END,
            coalesce(is_layout_known, false) DESC,
            coalesce(is_same_hosts, false) DESC,
            coalesce(is_placement_alike, false) DESC,
            measured_local_ns DESC NULLS LAST,
            peak DESC,
            baseline_run_id, baseline_source_id, benchmark_id, sweep
    ) = 1
),
bounded AS (
    SELECT
        c.run_id, c.operation, c.rank_count, c.host_count, c.gpu, c.message_bytes,
        max(p.size_bytes) FILTER (p.size_bytes <= c.message_bytes) AS lower_bytes,
        arg_max(p.busbw_bytes_per_s, p.size_bytes)
            FILTER (p.size_bytes <= c.message_bytes) AS lower_busbw,
        min(p.size_bytes) FILTER (p.size_bytes >= c.message_bytes) AS upper_bytes,
        arg_min(p.busbw_bytes_per_s, p.size_bytes)
            FILTER (p.size_bytes >= c.message_bytes) AS upper_busbw
    FROM chosen AS c
    JOIN point AS p
        ON p.run_id = c.baseline_run_id
        AND p.source_id = c.baseline_source_id
        AND p.benchmark_id = c.benchmark_id
        AND p.sweep = c.sweep
        AND p.is_in_place IS NOT DISTINCT FROM c.is_in_place
    GROUP BY c.run_id, c.operation, c.rank_count, c.host_count, c.gpu, c.message_bytes
)
SELECT
    w.run_id,
    w.operation,
    w.rank_count,
    w.host_count,
    w.gpu,
    w.message_bytes,
    CASE
        WHEN b.lower_bytes IS NULL THEN NULL
        WHEN b.upper_bytes IS NULL OR b.upper_bytes = b.lower_bytes THEN b.lower_busbw
        ELSE b.lower_busbw + (b.upper_busbw - b.lower_busbw)
            * (ln(w.message_bytes) - ln(b.lower_bytes))
            / (ln(b.upper_bytes) - ln(b.lower_bytes))
    END AS busbw_bytes_per_s,
    h.half_bytes,
    c.baseline_run_id,
    c.baseline_source_id,
    c.benchmark_id,
    c.is_in_place,
    b.lower_bytes,
    b.upper_bytes,
    c.origin,
    CASE
        WHEN c.origin IS NULL OR b.lower_bytes IS NULL THEN NULL
        WHEN b.upper_bytes IS NULL OR c.origin = 'run of unknown date' THEN 'low'
        WHEN coalesce(c.is_layout_known AND c.is_placement_alike, false) THEN 'high'
        ELSE 'medium'
    END AS confidence,
    CASE
        WHEN c.origin IS NULL AND w.named_run IS NOT NULL
            THEN 'run ' || w.named_run || ', which run.toml names, has no benchmark of '
                || w.operation || ' on ' || w.rank_count || ' ranks of this layout'
        WHEN c.origin IS NULL
            THEN 'no benchmark of ' || w.operation || ' on ' || w.rank_count
                || ' ranks of this layout, measured before the run'
        WHEN b.lower_bytes IS NULL THEN 'smaller than any size measured'
    END AS reason
FROM wanted AS w
LEFT JOIN chosen AS c
    ON c.run_id = w.run_id
    AND c.operation = w.operation
    AND c.rank_count = w.rank_count
    AND c.host_count IS NOT DISTINCT FROM w.host_count
    AND c.gpu IS NOT DISTINCT FROM w.gpu
    AND c.message_bytes = w.message_bytes
LEFT JOIN bounded AS b
    ON b.run_id = w.run_id
    AND b.operation = w.operation
    AND b.rank_count = w.rank_count
    AND b.host_count IS NOT DISTINCT FROM w.host_count
    AND b.gpu IS NOT DISTINCT FROM w.gpu
    AND b.message_bytes = w.message_bytes
LEFT JOIN collective_curve AS h
    ON h.run_id = c.baseline_run_id
    AND h.source_id = c.baseline_source_id
    AND h.benchmark_id = c.benchmark_id
    AND h.sweep = c.sweep
    AND h.is_in_place IS NOT DISTINCT FROM c.is_in_place
ORDER BY run_id, operation, rank_count, host_count, gpu, message_bytes
