-- A benchmark's bandwidth collapses at some sizes.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Compare NCCL's algorithm and protocol at these sizes (NCCL_DEBUG=INFO,
--   NCCL_ALGO, NCCL_PROTO), and flow control of the network.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Operation and sizes of one curve.
-- detail         Placement of the buffers; NULL when nothing says it.
-- value          Most that is lost against a smaller message.
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
    concat_ws(
        ' ', operation, kind,
        CASE WHEN count(*) > 1 THEN 'at ' || count(*) || ' sizes from' ELSE 'at' END,
        min(size_bytes),
        CASE WHEN count(*) > 1 THEN 'to ' || max(size_bytes) END,
        'bytes'
    ) AS subject,
    CASE WHEN is_in_place THEN 'in place' WHEN NOT is_in_place THEN 'out of place' END
        AS detail,
    max(lost_share) AS value,
    threshold_of('curve_dip_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'collective_curve_dip' AS evidence_view,
    'source_id = ''' || source_id || ''' AND benchmark_id = ' || benchmark_id
        || ' AND sweep = ' || sweep || ' AND kind = ''' || kind || ''''
        || ' AND is_in_place IS NOT DISTINCT FROM '
        || coalesce(is_in_place::VARCHAR, 'NULL') AS evidence
FROM collective_curve_dip
GROUP BY run_id, source_id, benchmark_id, sweep, is_in_place, operation, kind
