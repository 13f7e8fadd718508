-- Every collective of the job once, over all its ranks: what it moved, on how many ranks
-- and hosts, how long the last rank was waited for, how long the transfer took.
-- Grain: one row per (run_id, instance).
--
-- run_id       Run.
-- instance     Number of the collective within the run.
-- step         Step; NULL where matched over the whole capture.
-- operation    Collective operation.
-- rank_count   Ranks that took part.
-- host_count   Their hosts; NULL when one is not told.
-- hosts        Names of these, sorted; NULL likewise.
-- gpu          Row of reference table gpu, where all are of one; else NULL.
-- start_ns     Earliest start, ns since the capture began.
-- dur_ns       Longest duration.
-- mean_wait_ns  Mean of the ranks' waits; NULL when it cannot be told.
-- longest_wait_ns  Longest of them.
-- transfer_ns  Common window; NULL when it cannot be told.
-- last_rank    Rank that arrived last; NULL when it cannot be told, or has no number.
-- message_bytes  Message by which algbw is defined; NULL when the export does not tell,
--              or ranks disagree.
-- busbw_bytes_per_s  algbw x the operation's factor; NULL likewise.
-- is_all_present  Whether all ranks of its communicator are there; NULL when not known.
-- reason       Why it could not be split; else NULL.
WITH device AS (
    SELECT run_id, source_id, process, device_id, any_value(gpu) AS gpu
    FROM device_reference
    WHERE origin = 'device' AND process IS NOT NULL
    GROUP BY run_id, source_id, process, device_id
)
SELECT
    c.run_id,
    c.instance,
    any_value(c.step) AS step,
    any_value(c.operation) AS operation,
    any_value(c.rank_count) AS rank_count,
    CASE WHEN count(c.host) = count(*) THEN count(DISTINCT c.host) END::INTEGER
        AS host_count,
    CASE WHEN count(c.host) = count(*) THEN list(DISTINCT c.host ORDER BY c.host) END
        AS hosts,
    CASE WHEN count(DISTINCT d.gpu) = 1 AND count(d.gpu) = count(*) THEN min(d.gpu) END
        AS gpu,
    min(c.start_ns) AS start_ns,
    max(c.dur_ns) AS dur_ns,
    avg(c.wait_ns) AS mean_wait_ns,
    max(c.wait_ns) AS longest_wait_ns,
    any_value(c.transfer_ns) AS transfer_ns,
    min(c.rank) FILTER (c.is_last) AS last_rank,
    CASE WHEN count(DISTINCT c.message_bytes) = 1 THEN min(c.message_bytes) END
        AS message_bytes,
    CASE WHEN count(DISTINCT c.message_bytes) = 1 THEN any_value(c.busbw_bytes_per_s) END
        AS busbw_bytes_per_s,
    bool_and(c.rank_count = c.communicator_size) AS is_all_present,
    string_agg(DISTINCT c.reason, '; ' ORDER BY c.reason) AS reason
FROM collective AS c
LEFT JOIN device AS d
    ON d.run_id = c.run_id
    AND d.source_id = c.source_id
    AND d.process = c.process
    AND d.device_id = c.device_id
WHERE c.instance IS NOT NULL
GROUP BY c.run_id, c.instance
ORDER BY run_id, instance
