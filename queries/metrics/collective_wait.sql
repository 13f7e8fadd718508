-- Communication time of each rank: waiting for the last rank, transfer, tail; and how
-- often it was the last itself. A rank that waits is not slow at communication.
-- Grain: one row per (run_id, host, rank, device_id, process, source_id).
--
-- run_id              Run.
-- host                Host; NULL when the trace does not say.
-- rank                Global rank; NULL when the trace does not say.
-- device_id           CUDA ordinal inside the process.
-- process             Process id.
-- collective_count    Communication kernels.
-- split_count         Of these, how many could be split.
-- nccl_sum_ns         Sum of all their durations.
-- wait_ns             Sum of waits; NULL when none could be split.
-- transfer_ns         Sum of transfers.
-- tail_ns             Sum of tails.
-- wait_share          wait / duration of those that could be split.
-- last_arrival_count  Collectives in which it arrived last.
-- last_arrival_share  last_arrival_count / split_count.
-- caused_wait_ns      What all others together waited in those.
-- median_residual_ns  Median distance of ends after clocks were aligned.
-- worst_residual_ns   Largest, with what an unknown rate of the clock makes over the
--                     collective's duration: a wait may be wrong by this.
-- reason              Why some or all could not be split; else NULL.
-- source_id           Source file.
WITH timed AS MATERIALIZED (FROM collective_time),
caused AS (
    SELECT run_id, instance, sum(wait_ns) AS waited_ns
    FROM timed
    WHERE wait_ns IS NOT NULL
    GROUP BY run_id, instance
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    count(*) AS collective_count,
    count(c.wait_ns) AS split_count,
    sum(c.end_ns - c.start_ns)::BIGINT AS nccl_sum_ns,
    sum(c.wait_ns)::BIGINT AS wait_ns,
    sum(c.transfer_ns)::BIGINT AS transfer_ns,
    sum(c.tail_ns)::BIGINT AS tail_ns,
    share_of(
        sum(c.wait_ns), sum(c.end_ns - c.start_ns) FILTER (c.wait_ns IS NOT NULL)
    ) AS wait_share,
    CASE WHEN split_count > 0 THEN count(*) FILTER (c.is_last) END AS last_arrival_count,
    share_of(last_arrival_count, split_count) AS last_arrival_share,
    CASE WHEN split_count > 0
        THEN coalesce(sum(w.waited_ns) FILTER (c.is_last), 0)::BIGINT END
        AS caused_wait_ns,
    median(abs(c.residual_ns)) FILTER (c.wait_ns IS NOT NULL) AS median_residual_ns,
    max(c.start_error_ns) FILTER (c.wait_ns IS NOT NULL) AS worst_residual_ns,
    string_agg(DISTINCT c.reason, '; ' ORDER BY c.reason) AS reason,
    d.source_id
FROM timed AS c
JOIN traced_device AS d USING (device_key)
LEFT JOIN caused AS w ON w.run_id = c.run_id AND w.instance = c.instance
GROUP BY d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id
ORDER BY d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id
