-- What a run loses to GPUs whose clock is held down by power, heat or for no known
-- reason.
-- Grain: one row per run_id.
--
-- run_id       Run.
-- wall         power.
-- subject      Where the dearest slowdown was; NULL without one.
-- cost_ns      Saved per step of the run, slowdowns spread over all steps.
-- cost_share   cost / basis; NULL when unknown.
-- bound_share  Where the cost is unknown, at most this; NULL when nothing limits it.
-- is_evident   Whether it is a wall whatever it costs.
-- basis        What shares are of: step, or span where no steps are known.
-- evidence_view  View that shows it.
-- evidence     Condition on its rows; NULL for all of the run.
-- reason       Why the cost is unknown; else NULL.
-- need         What to collect to know it; see reference table collect.
WITH event AS MATERIALIZED (
    SELECT *
    FROM throttle_event
    WHERE family IN ('power', 'thermal', 'unexplained')
),
-- At the same time in several places, a slowdown lasts as long as one.
covered AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY run_id, clock
            ORDER BY start_ns, end_ns, event
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until
    FROM event
),
gathered AS (
    SELECT
        run_id,
        -- At most: all of them as far down as the deepest.
        max(fallen_share) * sum(uncovered_ns(start_ns, end_ns, covered_until))
            AS fallen_ns,
        bool_or(lost_ns IS NOT NULL) AS is_partly_known,
        coalesce(sum(coalesce(fallen_share * dur_ns, 'inf'::DOUBLE)) FILTER (
            lost_ns IS NULL
        ), 0) AS unknown_ns,
        count(*) AS event_count,
        any_value(cost_reason) FILTER (cost_reason IS NOT NULL) AS cost_reason,
        arg_max(
            concat_ws(' ', scope, place) || ': ' || limited_by,
            (coalesce(lost_ns, 0), coalesce(fallen_share * dur_ns, 0), event)
        ) AS subject
    FROM covered
    GROUP BY run_id
),
sampled AS (
    SELECT run_id, max(span_ns) AS span_ns, count(*) AS gpu_count
    FROM clock_summary
    GROUP BY run_id
),
-- A moment that no step can tell of does not hide what the others cost.
happened AS (
    SELECT
        g.*,
        g.is_partly_known
        AND coalesce(
            share_of(g.unknown_ns, s.span_ns) < threshold_of('warning_share'),
            g.unknown_ns = 0
        ) AS is_known
    FROM gathered AS g
    LEFT JOIN sampled AS s USING (run_id)
),
-- Each step once, in however many events it ran.
inside AS (
    SELECT DISTINCT run_id, series, attempt, step
    FROM throttled_step
    SEMI JOIN event USING (run_id, event)
),
outside AS (
    SELECT run_id, series, median(step_ns) AS step_ns
    FROM step_period
    ANTI JOIN throttled_step USING (run_id, series, attempt, step)
    GROUP BY run_id, series
),
-- Of several logs and the capture, the one with most steps inside tells it.
stepped AS (
    SELECT
        s.run_id,
        sum(s.step_count) AS step_count,
        sum(s.step_count * s.step_ns) AS total_ns,
        -- Noise may make steps inside shorter: then nothing was lost.
        greatest(sum(s.step_count * (s.step_ns - o.step_ns)) FILTER (
            i.run_id IS NOT NULL
        ), 0) AS lost_ns
    FROM step_period AS s
    JOIN outside AS o ON o.run_id = s.run_id AND o.series = s.series
    LEFT JOIN inside AS i
        ON i.run_id = s.run_id
        AND i.series = s.series
        AND i.attempt = s.attempt
        AND i.step = s.step
    GROUP BY s.run_id, s.series
    HAVING count(i.run_id) > 0
    QUALIFY row_number() OVER (
        PARTITION BY s.run_id
        ORDER BY sum(s.step_count) FILTER (i.run_id IS NOT NULL) DESC, s.series
    ) = 1
),
-- Without telemetry, work that takes longer at times may be clocks.
uneven AS (
    SELECT run_id, 1 - sum(steady_ns) / sum(compute_ns) AS uneven_share
    FROM (
        SELECT
            run_id, compute_ns,
            -- Steps of one device with as many kernels do the same.
            min(compute_ns) OVER (
                PARTITION BY run_id, source_id, process, device_id, kernel_count
            ) AS steady_ns
        FROM step_time
        WHERE exclusion IS NULL AND compute_ns > 0
    )
    GROUP BY run_id
)
SELECT
    e.run_id,
    'power' AS wall,
    h.subject,
    CASE WHEN h.is_known THEN t.lost_ns / t.step_count
        WHEN s.gpu_count > 0 AND h.event_count IS NULL THEN 0 END AS cost_ns,
    CASE WHEN h.is_known THEN share_of(t.lost_ns, t.total_ns)
        WHEN s.gpu_count > 0 AND h.event_count IS NULL THEN 0 END AS cost_share,
    CASE WHEN h.event_count > 0 THEN share_of(h.fallen_ns, s.span_ns)
        WHEN s.gpu_count IS NULL THEN u.uneven_share END AS bound_share,
    coalesce(
        h.event_count > 0
        AND NOT h.is_known
        AND coalesce(
            share_of(h.fallen_ns, s.span_ns) >= threshold_of('wall_share'), true
        ),
        false
    ) AS is_evident,
    'step' AS basis,
    CASE WHEN h.event_count > 0 THEN 'throttle_event' ELSE 'clock_summary' END
        AS evidence_view,
    CASE WHEN h.event_count > 0
        THEN 'family IN (''power'', ''thermal'', ''unexplained'')' END AS evidence,
    CASE WHEN NOT h.is_known THEN coalesce(h.cost_reason, 'its cost is not known')
        -- Even work is no proof of high clocks: they may have been low all along.
        WHEN s.gpu_count IS NULL AND u.uneven_share IS NOT NULL
            THEN 'clocks were not sampled; a slowdown that never ends would not show'
        WHEN s.gpu_count IS NULL THEN 'clocks were not sampled' END AS reason,
    CASE WHEN NOT h.is_known THEN 'training log'
        WHEN s.gpu_count IS NULL THEN 'dcgm' END AS need
FROM run_evidence AS e
LEFT JOIN happened AS h USING (run_id)
LEFT JOIN sampled AS s USING (run_id)
LEFT JOIN uneven AS u USING (run_id)
LEFT JOIN stepped AS t USING (run_id)
ORDER BY e.run_id
