-- Communication time of a run by operation: what of it was waiting for the last rank,
-- what transfer, what tail, over all ranks together.
-- Grain: one row per (run_id, operation).
--
-- run_id          Run.
-- operation       Collective operation; unknown where the kernel's name does not tell.
-- kernel_count    Communication kernels, over all ranks.
-- split_count     Of these, how many could be split.
-- wait_ns         Sum of waits; NULL when none could be split.
-- transfer_ns     Sum of transfers; NULL likewise.
-- tail_ns         Sum of tails; NULL likewise.
-- unsplit_ns      Sum of durations of those that could not be split.
-- wait_share      wait / (wait + transfer + tail).
-- longest_wait_ns  Longest wait; NULL when none could be split.
-- reason          Why some or all could not be split; else NULL.
WITH summed AS (
    SELECT
        run_id,
        coalesce(operation, 'unknown') AS operation,
        count(*) AS kernel_count,
        count(wait_ns) AS split_count,
        sum(wait_ns)::BIGINT AS wait_ns,
        (sum(transfer_ns) FILTER (wait_ns IS NOT NULL))::BIGINT AS transfer_ns,
        (sum(tail_ns) FILTER (wait_ns IS NOT NULL))::BIGINT AS tail_ns,
        coalesce(sum(dur_ns) FILTER (wait_ns IS NULL), 0)::BIGINT AS unsplit_ns,
        max(wait_ns) AS longest_wait_ns,
        string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reason
    FROM collective
    GROUP BY run_id, coalesce(operation, 'unknown')
)
SELECT
    run_id,
    operation,
    kernel_count,
    split_count,
    wait_ns,
    transfer_ns,
    tail_ns,
    unsplit_ns,
    share_of(wait_ns, wait_ns + transfer_ns + tail_ns) AS wait_share,
    longest_wait_ns,
    reason
FROM summed
ORDER BY run_id, operation
