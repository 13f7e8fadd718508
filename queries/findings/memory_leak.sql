-- Device memory grows all along.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Look for tensors kept across steps (losses summed with their graph, growing
--   caches).
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        GPU.
-- detail         NULL.
-- value          Growth over the run.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'warning' AS severity,
    'memory capacity' AS wall,
    gpu_called(host, device_id, gpu_id) AS subject,
    NULL::VARCHAR AS detail,
    growth_bytes AS value,
    threshold_of('memory_growth_share') * total_bytes AS threshold,
    'bytes' AS unit,
    NULL::DOUBLE AS cost_share,
    'memory_headroom' AS evidence_view,
    'gpu_id = ''' || gpu_id || ''' AND source_id = ''' || source_id || '''' AS evidence
FROM memory_headroom
WHERE is_growing AND is_primary
