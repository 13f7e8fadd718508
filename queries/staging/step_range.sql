-- Training steps on the host: NVTX ranges that are called like one; for a process without
-- any, the lines of the run's training log, where log and capture both know UTC.
-- Grain: one row per process and step.
--
-- run_id    Run.
-- source_id  Source file of the process.
-- process   Process id.
-- step      Number in the ranges' names where these rise, else counted from 0; or as
--           logged.
-- name      Text of the range; NULL from a log.
-- start_ns  Start on the host.
-- end_ns    End on the host.
-- next_start_ns  Start of the process's next step on the host; NULL for the last.
-- origin    nvtx or training log.
-- confidence  Of ranges that of the pattern; of a log the part of a step that its clock
--           resolves.
WITH ranged AS MATERIALIZED (FROM nvtx_step),
-- Of several printers the process's own rank, else its host, else the first. A line that
-- is about several steps does not tell where they begin.
logged AS (
    SELECT
        p.run_id, p.source_id, p.process, l.step,
        -- If something else went on before (a validation), it is as long as printed.
        CASE WHEN l.end_utc_ns - l.previous_utc_ns - l.step_ns > 2 * l.resolution_ns
            THEN l.end_utc_ns - l.step_ns ELSE l.previous_utc_ns END
            - f.capture_start_utc_ns AS start_ns,
        l.end_utc_ns - f.capture_start_utc_ns AS end_ns,
        l.resolution_ns
    FROM process AS p
    JOIN source_file AS f USING (run_id, source_id)
    JOIN logged_step AS l
        ON l.run_id = p.run_id
        AND l.step = l.previous_step + 1
        AND l.end_utc_ns > greatest(l.previous_utc_ns, f.capture_start_utc_ns)
        AND coalesce(
            l.previous_utc_ns < f.capture_start_utc_ns + f.capture_dur_ns, true
        )
    ANTI JOIN ranged AS r
        ON (r.run_id, r.source_id, r.process) = (p.run_id, p.source_id, p.process)
    QUALIFY dense_rank() OVER (
        PARTITION BY p.run_id, p.source_id, p.process
        ORDER BY
            (l.rank = p.rank) DESC NULLS LAST, (l.host = p.host) DESC NULLS LAST,
            l.source_id, l.framework, l.rank, l.host
    ) = 1
),
trusted AS (
    SELECT
        *,
        1 - resolution_ns / median(end_ns - start_ns) OVER (
            PARTITION BY run_id, source_id, process
        ) AS confidence
    FROM logged
    QUALIFY confidence >= threshold_of('step_log_confidence')
)
SELECT
    run_id, source_id, process, step, name, start_ns, end_ns, next_start_ns,
    'nvtx' AS origin, confidence
FROM ranged
UNION ALL
SELECT
    run_id, source_id, process, step, NULL, start_ns, end_ns,
    lead(start_ns) OVER (PARTITION BY run_id, source_id, process ORDER BY start_ns),
    'training log', confidence
FROM trusted
