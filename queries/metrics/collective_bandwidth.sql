-- Collectives of the job by operation, layout and size of message: median busbw against
-- the cluster's own benchmark, else the nominal link. collective_efficiency has each one.
-- Grain: one row per (run_id, source_id, subject_id).
--
-- run_id        Run.
-- source_id     NULL: the ranks' files together.
-- subject_kind  collective.
-- subject_id    Number of the group within the run.
-- host          NULL: all hosts of it together.
-- rank          NULL: all ranks of it together.
-- device_id     NULL.
-- gpu_id        NULL.
-- name          Operation.
-- conditions    Size of the message, ranks, hosts.
-- subject_count  Collectives.
-- bytes         Message by which algbw is defined, all together; NULL when not told.
-- dur_ns        Their transfers, all together; NULL when not known.
-- bytes_per_s   Median busbw.
-- reference_bytes_per_s  Busbw of the benchmark, or of the nominal link.
-- reference_source  What it rests on.
-- candidates    NULL.
-- stated_share  NULL.
-- low_share     Below this share it is low.
-- confidence    Of the reference.
-- reason        Why there is no efficiency; else NULL.
WITH split AS (
    SELECT
        run_id, operation, rank_count, host_count, gpu, message_bytes,
        count(*) AS collective_count,
        sum(transfer_ns)::BIGINT AS transfer_ns,
        median(busbw_bytes_per_s) AS busbw_bytes_per_s,
        any_value(reference_bytes_per_s) AS reference_bytes_per_s,
        any_value(reference_source) AS reference_source,
        any_value(confidence) AS confidence,
        any_value(reason ORDER BY instance) AS reason
    FROM collective_efficiency
    GROUP BY run_id, operation, rank_count, host_count, gpu, message_bytes
),
-- Of a single rank nothing tells transfer from waiting.
alone AS (
    SELECT
        run_id, operation, communicator_size AS rank_count, message_bytes,
        count(*) AS collective_count,
        any_value(reason ORDER BY reason) AS reason
    FROM collective
    WHERE instance IS NULL
    GROUP BY run_id, operation, communicator_size, message_bytes
),
every AS (
    SELECT * FROM split
    UNION ALL BY NAME
    SELECT * FROM alone
)
SELECT
    run_id,
    NULL::VARCHAR AS source_id,
    'collective' AS subject_kind,
    row_number() OVER (
        PARTITION BY run_id
        ORDER BY operation, rank_count, host_count, gpu, message_bytes, reason
    ) AS subject_id,
    NULL::VARCHAR AS host,
    NULL::INTEGER AS rank,
    NULL::INTEGER AS device_id,
    NULL::VARCHAR AS gpu_id,
    coalesce(operation, 'unknown operation') AS name,
    concat_ws(
        ', ', message_bytes || ' bytes', rank_count || ' ranks', host_count || ' hosts'
    ) AS conditions,
    collective_count AS subject_count,
    (message_bytes * collective_count)::BIGINT AS bytes,
    transfer_ns AS dur_ns,
    busbw_bytes_per_s AS bytes_per_s,
    reference_bytes_per_s,
    reference_source,
    NULL::VARCHAR AS candidates,
    NULL::DOUBLE AS stated_share,
    CASE WHEN reference_source LIKE 'nominal%' THEN threshold_of('link_low_share')
        ELSE threshold_of('baseline_low_share') END AS low_share,
    confidence,
    reason
FROM every
ORDER BY run_id, source_id, subject_id
