-- Training steps as the job's log tells them, line by line: how long, how many tokens,
-- and when the line was printed, on a clock that other files share where the log or
-- run.toml (telemetry.utc_offset) says the zone.
-- Grain: one row per logged line of training steps.
--
-- run_id      Run.
-- source_id   Source file.
-- framework   Framework that printed it.
-- attempt     Attempt within the log, from 1.
-- line        Line of the file.
-- host        Host that printed it; NULL when not said.
-- rank        Rank that printed it; NULL when not said.
-- step        Number of the step; NULL where none is printed.
-- previous_step  Number on the printer's line before in this attempt; NULL on the first.
-- is_first    Whether it is the first line of an attempt: with initialisation in it.
-- step_count  Steps that the line is about; NULL if not known.
-- step_ns     Time of a step, a mean over step_count: by the framework's own clock, else
--             as printed, else by the times of the lines; NULL without any.
-- end_utc_ns  When it was printed, ns since 1970 UTC; NULL without a time or a zone.
-- previous_utc_ns  The same of the printer's line before in this attempt.
-- resolution_ns  Step of the log's clock: 1 s where every time is a whole second, else 1
--             ms.
-- tokens      Tokens of a step over all ranks: as counted, else batch times sequence
--             length; NULL when not known.
WITH own_offset AS (
    SELECT
        run_id,
        (CASE WHEN min(value_text) LIKE '-%' THEN -1 ELSE 1 END * (
            try_cast(regexp_extract(min(value_text), '(\d+):(\d+)', 1) AS BIGINT) * 3600
            + try_cast(regexp_extract(min(value_text), '(\d+):(\d+)', 2) AS BIGINT) * 60
        ) * 1000000000)::BIGINT AS offset_ns
    FROM run_description
    WHERE key = 'telemetry.utc_offset'
    GROUP BY run_id
),
zero AS (
    SELECT
        f.run_id, f.source_id,
        coalesce(f.capture_start_utc_ns, f.capture_start_local_ns - o.offset_ns)
            AS zero_utc_ns
    FROM source_file AS f
    LEFT JOIN own_offset AS o USING (run_id)
),
-- The log's own argument first: a run may hold logs of several jobs.
argument AS (
    SELECT a.run_id, a.source_id, try_cast(any_value(a.value) AS BIGINT) AS length
    FROM job_argument AS a
    JOIN fact_key AS k
        ON k.origin = 'training log'
        AND k.key = 'model.sequence_length'
        AND k.name = lower(a.name)
    GROUP BY a.run_id, a.source_id
    HAVING count(DISTINCT a.value) = 1
),
described AS (
    SELECT run_id, min(value_number)::BIGINT AS length
    FROM run_description
    WHERE key = 'model.sequence_length'
    GROUP BY run_id
),
lined AS (
    SELECT
        t.*,
        coalesce(a.length, d.length) AS sequence_length,
        z.zero_utc_ns + t.ts_ns AS end_utc_ns,
        lag(t.step) OVER printer AS previous_step,
        lag(z.zero_utc_ns + t.ts_ns) OVER printer AS previous_utc_ns,
        row_number() OVER printer = 1 AS is_first,
        t.step - lag(t.step) OVER printer AS steps_since,
        t.ts_ns - lag(t.ts_ns) OVER printer AS since_ns,
        t.train_time_ns - lag(t.train_time_ns) OVER printer AS trained_ns,
        t.consumed_token_count - lag(t.consumed_token_count) OVER printer
            AS consumed_tokens,
        CASE WHEN bool_and(t.ts_ns % 1000000000 = 0) OVER (
            PARTITION BY t.run_id, t.source_id
        ) THEN 1000000000 ELSE 1000000 END AS resolution_ns
    FROM training_step AS t
    LEFT JOIN zero AS z USING (run_id, source_id)
    LEFT JOIN argument AS a USING (run_id, source_id)
    LEFT JOIN described AS d USING (run_id)
    WHERE t.kind = 'step'
    WINDOW printer AS (
        PARTITION BY t.run_id, t.source_id, t.framework, t.attempt, t.printed_rank, t.host
        ORDER BY t.line
    )
)
SELECT
    run_id,
    source_id,
    framework,
    attempt,
    line,
    host,
    printed_rank AS rank,
    step,
    previous_step,
    is_first,
    coalesce(step_count_averaged, steps_since) AS step_count,
    CASE
        WHEN trained_ns IS NOT NULL AND trained_ns <= 0 THEN NULL
        WHEN trained_ns IS NOT NULL THEN trained_ns // nullif(steps_since, 0)
        WHEN step_ns IS NOT NULL THEN nullif(step_ns, 0)
        WHEN since_ns > 0 AND steps_since > 0 THEN since_ns // steps_since
    END AS step_ns,
    end_utc_ns,
    previous_utc_ns,
    resolution_ns,
    CASE
        WHEN consumed_tokens > 0 AND steps_since > 0 THEN consumed_tokens // steps_since
        ELSE global_batch_size * sequence_length
    END AS tokens
FROM lined
