-- A GPU takes longer than its peers for the same kernels.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Compare clocks first; at equal clocks run dcgmi diag -r 3, then swap the GPU.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Device.
-- detail         What its clock says.
-- value          Its time / its peers' time for the same kernels.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'warning' AS severity,
    'power' AS wall,
    concat_ws(' ', 'rank ' || rank, host, 'device ' || device_id) AS subject,
    explanation AS detail,
    pace_ratio AS value,
    threshold_of('slow_kernel_ratio') AS threshold,
    'ratio' AS unit,
    NULL::DOUBLE AS cost_share,
    'kernel_pace' AS evidence_view,
    'source_id = ''' || source_id || ''' AND process = ' || process
        || ' AND device_id = ' || device_id AS evidence
FROM kernel_pace
WHERE is_slow
