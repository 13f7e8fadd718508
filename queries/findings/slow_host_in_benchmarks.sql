-- A host makes every set of hosts slow that it is in.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Drain it; test its adapters and cables (ib_write_bw in both directions,
--   nvidia-smi nvlink -s).
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Host.
-- detail         Its slow sets.
-- value          Its median busbw.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    CASE WHEN verdict = 'slow' THEN 'fault' ELSE 'warning' END AS severity,
    'interconnect' AS wall,
    host AS subject,
    concat_ws('; ', verdict, slow_sets) AS detail,
    median_busbw_bytes_per_s AS value,
    best_busbw_bytes_per_s AS threshold,
    'bytes_per_s' AS unit,
    NULL::DOUBLE AS cost_share,
    'slow_host' AS evidence_view,
    'operation = ''' || operation || ''' AND host = ''' || host || '''' AS evidence
FROM slow_host
WHERE verdict IN ('slow', 'suspect', 'link')
