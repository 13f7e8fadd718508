-- A counter of telemetry cannot be right and was left out.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Profiling counters read 0 while another profiler holds them, or without the
--   rights; stop it (dcgmi profile --pause) or run the exporter with SYS_ADMIN.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Counter.
-- detail         Why.
-- value          Samples left out.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'info' AS severity,
    NULL::VARCHAR AS wall,
    metric AS subject,
    reason AS detail,
    sum(left_out_count) AS value,
    NULL::DOUBLE AS threshold,
    'sample' AS unit,
    NULL::DOUBLE AS cost_share,
    'gpu_utilisation' AS evidence_view,
    'metric = ''' || metric || ''' AND reason = ''' || replace(reason, '''', '''''')
        || '''' AS evidence
FROM gpu_utilisation
WHERE reason IS NOT NULL AND left_out_count > 0 AND is_primary
GROUP BY run_id, metric, reason
