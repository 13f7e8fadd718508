-- A GPU of the job is held and hardly used.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Give it back, or look for the rank that should use it.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        GPU.
-- detail         NULL.
-- value          Mean use.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'warning' AS severity,
    NULL::VARCHAR AS wall,
    gpu_called(host, device_id, gpu_id) AS subject,
    metric AS detail,
    mean_value AS value,
    threshold_of('unused_gpu_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'gpu_utilisation' AS evidence_view,
    'gpu_id = ''' || gpu_id || ''' AND metric = ''' || metric || ''' AND source_id = '''
        || source_id || '''' AS evidence
FROM gpu_utilisation
WHERE is_primary
    AND metric = 'gpu_util_share'
    AND mean_value < threshold_of('unused_gpu_share')
    AND reason IS NULL
