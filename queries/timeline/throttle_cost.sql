-- What an event of throttling cost: steps inside against steps outside of all events. Of
-- several logs and the capture, the one with most steps in the event tells it.
-- Grain: one row per (run_id, event).
--
-- run_id         Run.
-- event          See throttle_member.
-- inside_count   Steps inside.
-- outside_count  Steps outside of all events; NULL without any.
-- inside_ns      Median step inside.
-- outside_ns     Median step outside; NULL without any.
-- lost_ns        What the steps inside took longer than the median outside.
WITH step_inside AS MATERIALIZED (
    FROM throttled_step
),
inside AS (
    SELECT
        run_id, event, clock, series,
        sum(step_count) AS step_count,
        median(step_ns) AS step_ns,
        sum(step_count * step_ns) AS total_ns
    FROM step_inside
    GROUP BY run_id, event, clock, series
),
outside AS (
    SELECT
        run_id, clock, series, sum(step_count) AS step_count, median(step_ns) AS step_ns
    FROM step_period AS s
    WHERE NOT EXISTS (
        FROM step_inside AS i
        WHERE i.run_id = s.run_id
            AND i.series = s.series
            AND i.attempt = s.attempt
            AND i.step = s.step
    )
    GROUP BY run_id, clock, series
)
SELECT
    i.run_id, i.event,
    i.step_count AS inside_count,
    o.step_count AS outside_count,
    i.step_ns AS inside_ns,
    o.step_ns AS outside_ns,
    i.total_ns - i.step_count * o.step_ns AS lost_ns
FROM inside AS i
LEFT JOIN outside AS o USING (run_id, clock, series)
QUALIFY row_number() OVER (
    PARTITION BY i.run_id, i.event
    ORDER BY o.step_ns IS NULL, i.step_count DESC, i.series
) = 1
