-- NVTX ranges that are training steps, by their names: of each process the ranges of the
-- first pattern of step_pattern (or of the run's own, run.toml [steps] pattern) that
-- names at least two, without those that lie inside another one of their thread: where
-- patterns nest, the outermost count. Where ranges of several threads overlap, only those
-- of one thread count.
-- Grain: one row per process and step.
--
-- run_id    Run.
-- source_id  Source file.
-- process   Process id.
-- thread    Thread that opened it.
-- step      Number in the ranges' names where these rise, else counted from 0.
-- name      Text of the range.
-- start_ns  Start on the host.
-- end_ns    End on the host.
-- next_start_ns  Start of the process's next step on the host; NULL for the last.
-- confidence  That of the pattern; 1 for the run's own.
WITH own_pattern AS (
    SELECT run_id, min(value_text) AS pattern
    FROM run_description
    WHERE key = 'steps.pattern'
    GROUP BY run_id
),
distinct_name AS MATERIALIZED (
    SELECT DISTINCT run_id, source_id, name
    FROM named_nvtx_range
    WHERE kind <> 'mark' AND name IS NOT NULL
),
-- A pattern that is no constant is compiled for every name it meets: names are brought to
-- their few forms first, every number in them as one #.
form AS MATERIALIZED (
    SELECT DISTINCT regexp_replace(lower(name), '\d+', '#', 'g') AS form
    FROM distinct_name
    WHERE length(name) < 80
),
matched_form AS (
    SELECT f.form, min(p.priority) AS priority
    FROM form AS f
    JOIN step_pattern AS p ON regexp_full_match(f.form, p.pattern)
    GROUP BY f.form
),
matched_name AS (
    SELECT n.run_id, n.source_id, n.name, m.priority
    FROM distinct_name AS n
    LEFT JOIN own_pattern AS o USING (run_id)
    JOIN matched_form AS m
        ON m.form = regexp_replace(lower(n.name), '\d+', '#', 'g')
    WHERE o.pattern IS NULL
    UNION ALL
    SELECT n.run_id, n.source_id, n.name, 0
    FROM distinct_name AS n
    JOIN own_pattern AS o ON o.run_id = n.run_id AND regexp_matches(n.name, o.pattern)
),
candidate AS (
    SELECT
        r.run_id, r.source_id, r.process, r.thread, m.priority, r.name, r.start_ns,
        r.end_ns
    FROM named_nvtx_range AS r
    JOIN matched_name AS m USING (run_id, source_id, name)
    WHERE r.kind <> 'mark' AND r.end_ns IS NOT NULL AND r.process IS NOT NULL
    -- One alone is no step, nor does it keep others from being some.
    QUALIFY count(*) OVER (
        PARTITION BY r.run_id, r.source_id, r.process, m.priority
    ) >= 2
),
nested AS (
    SELECT
        *,
        coalesce(end_ns <= max(end_ns) OVER (
            PARTITION BY run_id, source_id, process, thread, priority
            ORDER BY start_ns, end_ns DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), false) AS is_inside_same,
        coalesce(end_ns <= max(end_ns) OVER (
            PARTITION BY run_id, source_id, process, thread
            ORDER BY start_ns, end_ns DESC, priority
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), false) AS is_inside
    FROM candidate
),
-- Where ranges of several patterns lie in each other, the outermost are the iterations;
-- a few that lie outside do not make the inner ones some.
outermost AS (
    SELECT *
    FROM nested
    WINDOW per_pattern AS (PARTITION BY run_id, source_id, process, priority)
    QUALIFY NOT is_inside
        AND 2 * count(*) FILTER (NOT is_inside) OVER per_pattern
            >= count(*) FILTER (NOT is_inside_same) OVER per_pattern
),
outer_range AS (
    SELECT
        *,
        count(*) OVER per_thread < 2 AS is_single,
        sum(end_ns - start_ns) OVER per_thread AS thread_ns,
        coalesce(start_ns < max(end_ns) OVER (
            PARTITION BY run_id, source_id, process, priority
            ORDER BY start_ns, end_ns DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), false) AS is_overlapping
    FROM outermost
    WINDOW per_thread AS (PARTITION BY run_id, source_id, process, priority, thread)
),
-- Threads that each drive a device open a range each for the same step. The thread that
-- is in steps for longest has them all.
one_each AS (
    SELECT *
    FROM outer_range
    WINDOW per_pattern AS (PARTITION BY run_id, source_id, process, priority)
    QUALIFY NOT bool_or(is_overlapping) OVER per_pattern OR dense_rank() OVER (
        PARTITION BY run_id, source_id, process, priority
        ORDER BY is_single, thread_ns DESC, thread
    ) = 1
),
counted AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY run_id, source_id, process, priority) AS range_count
    FROM one_each
),
chosen AS (
    SELECT
        *,
        -- The number behind the last word for a step, else the last one: 3 both of
        -- epoch 1 / iter 3 and of step 3/100.
        coalesce(
            try_cast(regexp_extract(
                lower(name), '.*(?:step|iteration|iter|batch)[^0-9/]*(\d+)', 1
            ) AS BIGINT),
            try_cast(regexp_extract(name, '(\d+)(/\d+)?\D*$', 1) AS BIGINT)
        ) AS number,
        row_number() OVER in_order - 1 AS ordinal,
        lead(start_ns) OVER in_order AS next_start_ns
    FROM counted
    WHERE range_count >= 2
    WINDOW in_order AS (
        PARTITION BY run_id, source_id, process, priority ORDER BY start_ns
    )
    QUALIFY dense_rank() OVER (
        PARTITION BY run_id, source_id, process ORDER BY priority
    ) = 1
),
numbered AS (
    SELECT
        *,
        coalesce(number > lag(number) OVER in_order, number IS NOT NULL) AS is_rising
    FROM chosen
    WINDOW in_order AS (PARTITION BY run_id, source_id, process ORDER BY start_ns)
)
SELECT
    run_id,
    source_id,
    process,
    thread,
    CASE WHEN bool_and(is_rising) OVER (PARTITION BY run_id, source_id, process)
        THEN number ELSE ordinal END AS step,
    name,
    start_ns,
    end_ns,
    next_start_ns,
    coalesce(p.confidence, 1)::DOUBLE AS confidence
FROM numbered
LEFT JOIN step_pattern AS p USING (priority)
