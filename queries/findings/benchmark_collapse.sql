-- A benchmark's bandwidth collapses at some sizes.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Compare NCCL's algorithm and protocol at these sizes (NCCL_DEBUG=INFO,
--   NCCL_ALGO, NCCL_PROTO), and flow control of the network.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Operation.
-- detail         NULL.
-- value          Lost against a smaller message.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    CASE WHEN kind = 'collapse' THEN 'warning' ELSE 'info' END AS severity,
    'interconnect' AS wall,
    concat_ws(' ', operation, kind, 'at', size_bytes, 'bytes') AS subject,
    NULL::VARCHAR AS detail,
    lost_share AS value,
    threshold_of('curve_dip_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'collective_curve_dip' AS evidence_view,
    'source_id = ''' || source_id || ''' AND benchmark_id = ' || benchmark_id
        || ' AND sweep = ' || sweep || ' AND size_bytes = ' || size_bytes
        || ' AND is_in_place IS NOT DISTINCT FROM '
        || coalesce(is_in_place::VARCHAR, 'NULL') AS evidence
FROM collective_curve_dip
