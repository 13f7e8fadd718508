-- Copies go through pageable memory, at a fraction of the link's bandwidth.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Pin the host's buffers (pin_memory=True, cudaHostRegister).
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Device and direction.
-- detail         NULL.
-- value          Share of the device's span.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    m.run_id,
    'info' AS severity,
    'memory copies' AS wall,
    concat_ws(' ', 'rank ' || m.rank, m.host, 'device ' || m.device_id, m.kind)
        AS subject,
    NULL::VARCHAR AS detail,
    share_of(m.total_ns, t.span_ns) AS value,
    threshold_of('pageable_copy_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'memory_copy_summary' AS evidence_view,
    'source_id = ''' || m.source_id || ''' AND process = ' || m.process
        || ' AND device_id = ' || m.device_id || ' AND kind = ''' || m.kind
        || ''' AND ''pageable'' IN (source_memory, destination_memory)' AS evidence
FROM (
    SELECT
        run_id, source_id, host, rank, process, device_id, kind, sum(total_ns) AS total_ns
    FROM memory_copy_summary
    WHERE source_memory = 'pageable' OR destination_memory = 'pageable'
    GROUP BY ALL
) AS m
JOIN nccl_time_share AS t USING (run_id, source_id, process, device_id)
WHERE share_of(m.total_ns, t.span_ns) > threshold_of('pageable_copy_share')
