-- Single steps take much longer than the others.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: At equal distances look at what is done every so often (checkpoint, evaluation,
--   logging); else at storage, the network and Python's garbage collector.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Framework that logged the steps.
-- detail         How many, and how far apart.
-- value          Time beyond the median step / time of all steps.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH timed AS (
    SELECT
        run_id, source_id, framework, attempt, step, line, step_ns,
        median(step_ns) OVER (PARTITION BY run_id, source_id, attempt) AS median_ns
    FROM logged_step
    WHERE step_ns > 0 AND NOT is_first
),
long AS (
    SELECT
        run_id, source_id, attempt, step,
        step - lag(step) OVER (PARTITION BY run_id, source_id, attempt ORDER BY line)
            AS distance
    FROM timed
    WHERE step_ns > median_ns * threshold_of('long_step_ratio')
),
apart AS (
    SELECT
        run_id, source_id, attempt,
        count(*) AS long_count,
        min(step) AS first_step,
        min(distance) AS shortest,
        max(distance) AS longest
    FROM long
    GROUP BY run_id, source_id, attempt
),
lost AS (
    SELECT
        run_id, source_id, attempt,
        any_value(framework) AS framework,
        count(*) AS step_count,
        sum(step_ns - median_ns)
            FILTER (step_ns > median_ns * threshold_of('long_step_ratio'))
            / sum(step_ns) AS lost_share
    FROM timed
    GROUP BY run_id, source_id, attempt
)
SELECT
    l.run_id,
    'warning' AS severity,
    NULL::VARCHAR AS wall,
    l.framework AS subject,
    concat(
        a.long_count, ' of ', l.step_count, ' steps',
        CASE WHEN a.long_count > 2 AND a.shortest = a.longest
            THEN ', every ' || a.longest || ' steps' END,
        ', from step ' || a.first_step || ' on'
    ) AS detail,
    l.lost_share AS value,
    threshold_of('warning_share') AS threshold,
    'share' AS unit,
    l.lost_share AS cost_share,
    'training_step_summary' AS evidence_view,
    'source_id = ''' || l.source_id || ''' AND attempt = ' || l.attempt AS evidence
FROM lost AS l
JOIN apart AS a USING (run_id, source_id, attempt)
WHERE l.lost_share >= threshold_of('warning_share')
    -- More of them are no single steps.
    AND a.long_count <= l.step_count * threshold_of('long_step_count_share')
