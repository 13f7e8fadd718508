-- What the time of a run's steps beside compute goes to, in words that a saw-tooth of the
-- telemetry can be explained by.
-- Grain: one row per run_id.
--
-- run_id     Run.
-- step_ns    Median step: of the captures, else of the logs.
-- step_part  Largest part of a step beside compute: communication, input or host; NULL
--            without a capture.
-- rare_part  checkpoint or evaluation, where gaps of the capture have that cause.
WITH stepped AS (
    SELECT
        run_id,
        coalesce(
            median(step_ns) FILTER (series = 'capture'), median(step_ns)
        ) AS step_ns
    FROM step_period
    GROUP BY run_id
),
gap AS (
    SELECT
        d.run_id,
        sum(g.end_ns - g.start_ns) FILTER (g.cause IN ('data_loading', 'blocking_copy'))
            AS input_ns,
        sum(g.end_ns - g.start_ns) FILTER (
            g.cause NOT IN (
                'data_loading', 'blocking_copy', 'checkpoint', 'evaluation', 'unknown',
                'profiler', 'dependency'
            )
        ) AS host_ns,
        sum(g.end_ns - g.start_ns) FILTER (g.cause = 'checkpoint') AS checkpoint_ns,
        sum(g.end_ns - g.start_ns) FILTER (g.cause = 'evaluation') AS evaluation_ns
    FROM gap_part AS g
    JOIN traced_device AS d USING (device_key)
    GROUP BY d.run_id
),
busy AS (
    SELECT d.run_id, sum(t.communication_ns) AS communication_ns
    FROM device_time AS t
    JOIN traced_device AS d USING (device_key)
    GROUP BY d.run_id
)
SELECT
    run_id,
    coalesce(s.step_ns, c.step_ns)::BIGINT AS step_ns,
    CASE
        WHEN b.communication_ns IS NULL THEN NULL
        WHEN coalesce(b.communication_ns, 0) >= coalesce(g.input_ns, 0)
            AND coalesce(b.communication_ns, 0) >= coalesce(g.host_ns, 0)
            AND b.communication_ns > 0 THEN 'communication'
        WHEN coalesce(g.input_ns, 0) >= coalesce(g.host_ns, 0) AND g.input_ns > 0
            THEN 'input'
        WHEN g.host_ns > 0 THEN 'host'
    END AS step_part,
    CASE
        WHEN coalesce(g.checkpoint_ns, 0) >= coalesce(g.evaluation_ns, 0)
            AND g.checkpoint_ns > 0 THEN 'checkpoint'
        WHEN g.evaluation_ns > 0 THEN 'evaluation'
    END AS rare_part
FROM stepped AS s
FULL JOIN (
    -- Captures without a time of day have steps too.
    SELECT d.run_id, median(t.end_ns - t.begin_ns) AS step_ns
    FROM device_step AS t
    JOIN traced_device AS d USING (device_key)
    WHERE t.exclusion IS NULL
    GROUP BY d.run_id
) AS c USING (run_id)
LEFT JOIN gap AS g USING (run_id)
LEFT JOIN busy AS b USING (run_id)
