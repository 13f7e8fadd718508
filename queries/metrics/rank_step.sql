-- Each step on each device, beside the same step on the other ranks: what of it is the
-- rank's own, and which rank the others waited for. Times are by launch; see step_work.
-- Grain: one row per (device_key, step) of steps that summaries keep and that more than
-- half of the run's devices with steps have: captures begin and end at different steps.
--
-- device_key     See traced_device.
-- run_id         Run.
-- step           Step.
-- rank_count     Devices of the run with this step.
-- device_count   Devices of the run that ran any kernel or graph.
-- step_ns        Length.
-- own_ns         step without exposed communication: compute, exposed memory, idle.
-- exposed_wait_ns  Waiting for other ranks with no compute beside it; NULL when unknown.
-- exposed_transfer_ns  Other communication with no compute beside it; with waiting
--                unknown, all of it.
-- hidden_wait_ns  Waiting for other ranks beside compute; NULL when unknown.
-- transfer_ns    Union of collectives without their waiting; all communication where that
--                is unknown.
-- unsplit_count  Collectives whose waiting is unknown: it counts as transfer.
-- communication_ns  Union of communication kernels.
-- compute_ns     Union of compute.
-- exposed_memory_ns  Copies and sets with no kernel and no graph beside them.
-- ordinary_ns    Own time of the ordinary rank: the lower median over ranks.
-- is_critical    Whether the others waited for this rank: it waited least itself. NULL
--                where waits are unknown, or half of the devices or more lack the step.
-- excess_ns      How much more own time than the ordinary rank it needed; 0 if less.
-- alone_ns       What the step would be shorter had this rank alone been ordinary: its
--                excess over the next slowest rank's where it is critical, else 0.
-- held_ns        Its excess, as far as others waited longer than it did: what it would
--                cost if no other were slower.
WITH timed AS (
    SELECT
        t.device_key,
        d.run_id,
        t.step,
        t.step_ns,
        t.own_ns,
        w.exposed_wait_ns,
        t.exposed_communication_ns - coalesce(w.exposed_wait_ns, 0)
            AS exposed_transfer_ns,
        w.hidden_wait_ns,
        least(coalesce(w.transfer_ns, t.communication_ns), t.communication_ns)
            AS transfer_ns,
        coalesce(w.collective_count - w.split_count, 0) AS unsplit_count,
        t.communication_ns,
        t.compute_ns,
        t.exposed_memory_ns
    FROM step_work AS t
    JOIN traced_device AS d USING (device_key)
    LEFT JOIN step_wait AS w USING (device_key, step)
    WHERE t.exclusion IS NULL
),
working AS (
    SELECT run_id, count(DISTINCT device_key) AS device_count
    FROM activity
    WHERE is_compute OR is_communication
    GROUP BY run_id
),
shared AS (
    SELECT run_id, step
    FROM timed
    JOIN (
        SELECT run_id, count(DISTINCT device_key) AS device_count
        FROM timed
        GROUP BY run_id
    ) USING (run_id)
    GROUP BY run_id, step
    HAVING 2 * count(*) > any_value(device_count)
),
compared AS (
    SELECT
        t.*,
        w.device_count,
        count(*) OVER same AS rank_count,
        quantile_disc(t.own_ns, 0.5) OVER same AS ordinary_ns,
        max(t.exposed_wait_ns) OVER same AS most_wait_ns,
        CASE WHEN bool_and(t.exposed_wait_ns IS NOT NULL) OVER same
                AND 2 * count(*) OVER same > w.device_count
            THEN row_number() OVER (
                PARTITION BY t.run_id, t.step
                ORDER BY t.exposed_wait_ns, t.own_ns DESC, t.device_key
            ) = 1 END AS is_critical
    FROM timed AS t
    SEMI JOIN shared AS s USING (run_id, step)
    JOIN working AS w USING (run_id)
    WINDOW same AS (PARTITION BY t.run_id, t.step)
),
exceeding AS (
    SELECT *, greatest(0, own_ns - ordinary_ns) AS excess_ns FROM compared
)
SELECT
    device_key,
    run_id,
    step,
    rank_count,
    device_count,
    step_ns,
    own_ns,
    exposed_wait_ns,
    exposed_transfer_ns,
    hidden_wait_ns,
    transfer_ns,
    unsplit_count,
    communication_ns,
    compute_ns,
    exposed_memory_ns,
    ordinary_ns,
    is_critical,
    excess_ns,
    CASE WHEN is_critical THEN greatest(0, excess_ns - coalesce(max(excess_ns) OVER (
        PARTITION BY run_id, step ORDER BY device_key
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW
    ), 0)) WHEN NOT is_critical THEN 0 END AS alone_ns,
    CASE WHEN is_critical THEN excess_ns
        WHEN NOT is_critical THEN least(excess_ns, most_wait_ns - exposed_wait_ns)
        END AS held_ns
FROM exceeding
ORDER BY device_key, step
