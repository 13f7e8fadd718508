-- Stages of the pipeline wait for each other.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: More micro-batches, an interleaved or zero-bubble schedule, or a better balance
--   of layers over stages.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Rank.
-- detail         Stage that it waits for, and the ideal share.
-- value          Mean bubble / step.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH mean AS (
    SELECT
        run_id, source_id, host, rank, process, device_id,
        sum(bubble_ns) / sum(step_ns) FILTER (bubble_ns IS NOT NULL) AS bubble_share,
        any_value(peer) AS peer,
        any_value(ideal_share) AS ideal_share
    FROM pipeline_bubble
    WHERE exclusion IS NULL
    GROUP BY run_id, source_id, host, rank, process, device_id
)
SELECT
    run_id,
    'warning' AS severity,
    'waiting' AS wall,
    concat_ws(' ', 'rank ' || rank, host, 'device ' || device_id) AS subject,
    concat_ws('; ', 'waits for ' || peer,
        'a balanced pipeline has ' || round(ideal_share, 3)) AS detail,
    bubble_share AS value,
    threshold_of('pipeline_bubble_share') AS threshold,
    'share' AS unit,
    bubble_share AS cost_share,
    'pipeline_bubble' AS evidence_view,
    'source_id = ''' || source_id || ''' AND process = ' || process
        || ' AND device_id = ' || device_id AS evidence
FROM mean
WHERE bubble_share > threshold_of('pipeline_bubble_share')
