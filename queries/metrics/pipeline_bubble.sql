-- Time of each step in which a device neither computes nor does any other communication
-- than sending to and receiving from other stages, or does nothing: the bubble of
-- pipeline parallelism. Only devices that send and receive are listed; exchanges of other
-- kinds (expert or sequence parallelism by send and receive) look alike.
-- Grain: one row per (run_id, host, rank, device_id, process, step, source_id).
--
-- run_id                Run.
-- host                  Host; NULL when the trace does not say.
-- rank                  Global rank; NULL when the trace does not say.
-- device_id             CUDA ordinal inside the process.
-- process               Process id.
-- step                  Step.
-- exclusion             Why summaries leave the step out; else NULL.
-- send_receive_count    Kernels that send and receive and start in the step.
-- step_ns               Length of the step.
-- exposed_send_receive_ns  Union of these kernels with no other kernel beside them.
-- idle_ns               Idle time of the step.
-- bubble_ns             exposed_send_receive + idle.
-- bubble_share          bubble / step.
-- source_id             Source file.
WITH executing AS (
    SELECT
        a.device_key, a.step, a.start_ns, a.end_ns, a.is_first,
        coalesce(n.operation = 'send_recv', false) AS is_exchange
    FROM step_activity AS a
    LEFT JOIN classified_kernel_name AS n USING (name_id)
    WHERE a.kind IN ('kernel', 'graph_launch')
),
covered AS (
    SELECT
        *,
        max(end_ns) OVER earlier AS by_any,
        max(CASE WHEN NOT is_exchange THEN end_ns END) OVER earlier AS by_other
    FROM executing
    WINDOW earlier AS (
        PARTITION BY device_key, step ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
exposed AS (
    SELECT
        device_key,
        step,
        count(*) FILTER (is_exchange AND is_first) AS send_receive_count,
        (sum(uncovered_ns(start_ns, end_ns, by_any))
            - coalesce(sum(uncovered_ns(start_ns, end_ns, by_other))
                FILTER (NOT is_exchange), 0))::BIGINT AS exposed_ns
    FROM covered
    GROUP BY device_key, step
    HAVING bool_or(is_exchange)
)
SELECT
    t.run_id,
    t.host,
    t.rank,
    t.device_id,
    t.process,
    t.step,
    t.exclusion,
    e.send_receive_count,
    t.step_ns,
    e.exposed_ns AS exposed_send_receive_ns,
    t.idle_ns,
    e.exposed_ns + t.idle_ns AS bubble_ns,
    share_of(e.exposed_ns + t.idle_ns, t.step_ns) AS bubble_share,
    t.source_id
FROM exposed AS e
JOIN traced_device AS d USING (device_key)
JOIN step_time AS t
    ON t.run_id = d.run_id
    AND t.source_id = d.source_id
    AND t.process = d.process
    AND t.device_id = d.device_id
    AND t.step = e.step
ORDER BY t.run_id, t.host, t.rank, t.device_id, t.process, t.source_id, t.step
