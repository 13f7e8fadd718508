-- When each training step ran by the time of day, from training logs and from captures,
-- so that steps and telemetry meet. A log's line is taken for the end of its step; the
-- first line of an attempt holds initialisation and is left out. Captures without a time
-- of day are not here.
-- Grain: one row per (run_id, series, attempt, step).
--
-- run_id    Run.
-- series    Who tells of the step: the source of a training log, or capture.
-- attempt   Attempt within the log; 1 for a capture.
-- step      Step; with a log that prints every n-th, the last of those averaged.
-- clock     utc or local; see source_clock.
-- start_ns  Start on that clock, ns since 1970.
-- end_ns    End.
-- step_ns   Time of one step; over ranks the median.
-- step_count  Steps that the row stands for.
WITH lined AS (
    SELECT
        t.run_id, t.source_id, t.attempt, t.step, t.step_ns, t.ts_ns,
        nullif(t.step_count_averaged, 0) AS averaged_count,
        row_number() OVER printer = 1 AS is_first,
        t.step - lag(t.step) OVER printer AS steps_since,
        t.ts_ns - lag(t.ts_ns) OVER printer AS since_ns
    FROM training_step AS t
    WHERE t.kind = 'step'
    WINDOW printer AS (
        PARTITION BY
            t.run_id, t.source_id, t.framework, t.attempt, t.printed_rank, t.host
        ORDER BY t.line
    )
),
logged AS (
    SELECT
        run_id, source_id, attempt, step, ts_ns,
        coalesce(averaged_count, steps_since, 1) AS step_count,
        coalesce(
            nullif(step_ns, 0),
            CASE WHEN since_ns > 0 AND steps_since > 0 THEN since_ns / steps_since END
        ) AS step_ns
    FROM lined
    WHERE NOT is_first AND ts_ns IS NOT NULL AND step IS NOT NULL
),
captured AS (
    SELECT
        d.run_id,
        s.step,
        c.clock,
        min(c.zero_ns + s.begin_ns) AS start_ns,
        max(c.zero_ns + s.end_ns) AS end_ns,
        median(s.end_ns - s.begin_ns) AS step_ns
    FROM device_step AS s
    JOIN traced_device AS d USING (device_key)
    JOIN source_clock AS c USING (run_id, source_id)
    WHERE s.exclusion IS NULL AND c.clock IS NOT NULL
    GROUP BY d.run_id, s.step, c.clock
)
SELECT
    l.run_id,
    l.source_id AS series,
    l.attempt,
    l.step,
    c.clock,
    (c.zero_ns + max(l.ts_ns) - median(l.step_ns) * max(l.step_count))::BIGINT
        AS start_ns,
    c.zero_ns + max(l.ts_ns) AS end_ns,
    median(l.step_ns)::BIGINT AS step_ns,
    max(l.step_count) AS step_count
FROM logged AS l
JOIN source_clock AS c USING (run_id, source_id)
WHERE l.step_ns > 0 AND c.clock IS NOT NULL
GROUP BY l.run_id, l.source_id, l.attempt, l.step, c.clock, c.zero_ns
UNION ALL
SELECT
    run_id, 'capture', 1, step, clock, start_ns, end_ns, step_ns::BIGINT, 1
FROM captured
-- Hosts whose zone is not known cannot be put among those in UTC.
QUALIFY row_number() OVER (
    PARTITION BY run_id, step ORDER BY clock = 'utc' DESC, clock
) = 1
