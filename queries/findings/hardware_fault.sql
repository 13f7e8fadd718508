-- Hardware reports errors.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Drain the host before anything is tuned; the action for each XID stands in
--   hardware_error.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Part.
-- detail         What it means, and what to do.
-- value          How often.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    CASE
        WHEN severity IN ('error', 'critical') THEN 'fault'
        ELSE 'warning'
    END AS severity,
    CASE WHEN entity = 'link' OR metric LIKE 'pcie%' OR metric LIKE 'nvlink%'
        THEN 'interconnect' END AS wall,
    concat_ws(' ', gpu_called(host, device_id, gpu_id),
        CASE WHEN entity <> 'gpu' THEN entity || ' ' || entity_id END) AS subject,
    concat_ws('; ', concat_ws(' ', error, code), detail, action) AS detail,
    occurrences AS value,
    NULL::DOUBLE AS threshold,
    'occurrence' AS unit,
    NULL::DOUBLE AS cost_share,
    'hardware_error' AS evidence_view,
    concat(
        'host IS NOT DISTINCT FROM ', coalesce('''' || host || '''', 'NULL'),
        ' AND gpu_id = ''', gpu_id,
        ''' AND error = ''', replace(error, '''', ''''''), '''',
        ' AND entity_id IS NOT DISTINCT FROM ',
        coalesce('''' || entity_id || '''', 'NULL'),
        ' AND code IS NOT DISTINCT FROM ', coalesce(code::VARCHAR, 'NULL'),
        ' AND source_id = ''', source_id, ''''
    ) AS evidence
FROM hardware_error
WHERE is_over AND role <> 'consequence'
