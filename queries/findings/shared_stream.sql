-- Communication runs on a stream that also computes: it cannot overlap that compute.
-- Grain: one row per run_id.
-- Hint: Give communication a stream and communicator of its own.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         NULL.
-- value          Communication on shared streams / all of it, of the device with most.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'info' AS severity,
    'communication' AS wall,
    NULL::VARCHAR AS subject,
    NULL::VARCHAR AS detail,
    max(shared_stream_share) AS value,
    threshold_of('shared_stream_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'communication_overlap' AS evidence_view,
    'shared_stream_share > ' || threshold_of('shared_stream_share') AS evidence
FROM communication_overlap
GROUP BY run_id
HAVING max(shared_stream_share) > threshold_of('shared_stream_share')
