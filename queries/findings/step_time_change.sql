-- Steps take longer from some point of the run on.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Compare clocks, clock-event reasons, link errors and the data's place (storage,
--   network) before and after that time.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Framework that logged the steps.
-- detail         Since which step, and how long steps took before and after.
-- value          Growth of the median step.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
-- The change is where the steps before and after differ most from their common mean
-- (CUSUM); logarithms, and no step counts for more than twice the median, so that a few
-- long steps do not look like one.
WITH timed AS (
    SELECT
        run_id, source_id, framework, attempt, step, line, step_ns, end_utc_ns,
        ln(least(step_ns / median(step_ns) OVER log, 2)) AS size,
        row_number() OVER (log ORDER BY line) AS number,
        count(*) OVER log AS step_count
    FROM logged_step
    WHERE step_ns > 0 AND NOT is_first
    WINDOW log AS (PARTITION BY run_id, source_id, attempt)
),
summed AS (
    SELECT
        *,
        sum(size) OVER (sofar) - number * avg(size) OVER (
            PARTITION BY run_id, source_id, attempt
        ) AS cusum
    FROM timed
    WINDOW sofar AS (PARTITION BY run_id, source_id, attempt ORDER BY line)
),
-- Growth is a sum below the mean up to the change.
changed AS (
    SELECT run_id, source_id, attempt, arg_min(number, (cusum, number)) AS last_before
    FROM summed
    GROUP BY run_id, source_id, attempt
),
compared AS (
    SELECT
        s.run_id, s.source_id, s.attempt,
        any_value(s.framework) AS framework,
        min(s.step) FILTER (s.number > c.last_before) AS first_step,
        min(s.end_utc_ns) FILTER (s.number > c.last_before) AS since_utc_ns,
        count(*) FILTER (s.number <= c.last_before) AS before_count,
        count(*) FILTER (s.number > c.last_before) AS after_count,
        median(s.step_ns) FILTER (s.number <= c.last_before) AS before_ns,
        median(s.step_ns) FILTER (s.number > c.last_before) AS after_ns,
        quantile_cont(s.step_ns, 0.9) FILTER (s.number <= c.last_before)
            AS high_before_ns,
        quantile_cont(s.step_ns, 0.1) FILTER (s.number > c.last_before)
            AS low_after_ns,
        sum(s.step_ns) AS total_ns
    FROM summed AS s
    JOIN changed AS c USING (run_id, source_id, attempt)
    GROUP BY s.run_id, s.source_id, s.attempt
)
SELECT
    run_id,
    'warning' AS severity,
    NULL::VARCHAR AS wall,
    framework AS subject,
    concat(
        'since step ', first_step,
        strftime(make_timestamp(since_utc_ns // 1000), ' (%Y-%m-%d %H:%M:%S UTC)'), ': ',
        before_ns::BIGINT, ' ns before, ', after_ns::BIGINT, ' ns after'
    ) AS detail,
    after_ns / before_ns - 1 AS value,
    threshold_of('step_change_share') AS threshold,
    'share' AS unit,
    (after_ns - before_ns) * after_count / total_ns AS cost_share,
    'training_step_summary' AS evidence_view,
    'source_id = ''' || source_id || ''' AND attempt = ' || attempt AS evidence
FROM compared
WHERE before_count >= threshold_of('step_change_count')
    AND after_count >= threshold_of('step_change_count')
    AND after_ns > before_ns * (1 + threshold_of('step_change_share'))
    -- Steps that only spread have both in common.
    AND low_after_ns > high_before_ns
