-- Copies go through pageable memory, at a fraction of the link's bandwidth.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Pin the host's buffers (pin_memory=True, cudaHostRegister).
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Direction.
-- detail         How many devices, and the one with most.
-- value          Their time / span, of the device with most.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH summed AS (
    SELECT
        run_id, source_id, host, rank, process, device_id, kind, sum(total_ns) AS total_ns
    FROM memory_copy_summary
    WHERE source_memory = 'pageable' OR destination_memory = 'pageable'
    GROUP BY ALL
),
-- All ranks of a job copy alike: a row for each would hide everything else.
shared AS (
    SELECT
        m.run_id,
        m.kind,
        concat_ws(' ', 'rank ' || m.rank, m.host, 'device ' || m.device_id) AS device,
        share_of(m.total_ns, t.span_ns) AS span_share
    FROM summed AS m
    JOIN nccl_time_share AS t USING (run_id, source_id, process, device_id)
)
SELECT
    run_id,
    'info' AS severity,
    'memory copies' AS wall,
    kind AS subject,
    CASE WHEN count(*) > 1 THEN count(*) || ' devices, most on ' ELSE '' END
        || arg_max(device, (span_share, device)) AS detail,
    max(span_share) AS value,
    threshold_of('pageable_copy_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'memory_copy_summary' AS evidence_view,
    'kind = ''' || kind || ''' AND ''pageable'' IN (source_memory, destination_memory)'
        AS evidence
FROM shared
WHERE span_share > threshold_of('pageable_copy_share')
GROUP BY run_id, kind
