-- Device memory leaves no room for peaks.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Recompute activations, shard the optimizer (ZeRO, FSDP) or lower the
--   micro-batch; keep 10 to 15 % free.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        GPU.
-- detail         NULL.
-- value          Most memory in use / total.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    CASE WHEN peak_share >= threshold_of('memory_full_share') THEN 'wall'
        ELSE 'warning' END AS severity,
    'memory capacity' AS wall,
    gpu_called(host, device_id, gpu_id) AS subject,
    NULL::VARCHAR AS detail,
    peak_share AS value,
    1 - threshold_of('memory_headroom_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'memory_headroom' AS evidence_view,
    'gpu_id = ''' || gpu_id || ''' AND source_id = ''' || source_id || '''' AS evidence
FROM memory_headroom
WHERE is_too_full AND is_primary
