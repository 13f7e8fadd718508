-- Each step on each device, beside the same step on the other ranks: what of it is the
-- rank's own, and which rank the others waited for.
-- Grain: one row per (device_key, step) of steps that summaries keep and that more than
-- half of the run's devices have: captures begin and end at different steps.
--
-- device_key     See traced_device.
-- run_id         Run.
-- step           Step.
-- rank_count     Devices of the run with this step.
-- step_ns        Length.
-- own_ns         step without exposed communication: compute, exposed memory, idle.
-- exposed_wait_ns  Waiting for other ranks with no compute beside it; NULL when unknown.
-- exposed_transfer_ns  Other communication with no compute beside it; with waiting
--                unknown, all of it.
-- communication_ns  Union of communication kernels.
-- compute_ns     Union of compute.
-- ordinary_ns    Own time of the ordinary rank: the lower median over ranks.
-- is_critical    Whether the others waited for this rank: it waited least itself.
-- excess_ns      How much more own time than the ordinary rank it needed; 0 if less.
WITH timed AS (
    SELECT
        d.device_key,
        t.run_id,
        t.step,
        t.step_ns,
        t.step_ns - t.exposed_communication_ns AS own_ns,
        w.exposed_wait_ns,
        t.exposed_communication_ns - coalesce(w.exposed_wait_ns, 0)
            AS exposed_transfer_ns,
        t.communication_ns,
        t.compute_ns
    FROM step_time AS t
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    LEFT JOIN step_wait AS w USING (device_key, step)
    WHERE t.exclusion IS NULL
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
)
SELECT
    device_key,
    run_id,
    step,
    count(*) OVER same AS rank_count,
    step_ns,
    own_ns,
    exposed_wait_ns,
    exposed_transfer_ns,
    communication_ns,
    compute_ns,
    quantile_disc(own_ns, 0.5) OVER same AS ordinary_ns,
    CASE WHEN bool_and(exposed_wait_ns IS NOT NULL) OVER same
        THEN row_number() OVER (
            PARTITION BY run_id, step ORDER BY exposed_wait_ns, own_ns DESC, device_key
        ) = 1 END AS is_critical,
    greatest(0, own_ns - quantile_disc(own_ns, 0.5) OVER same) AS excess_ns
FROM timed
SEMI JOIN shared USING (run_id, step)
WINDOW same AS (PARTITION BY run_id, step)
ORDER BY device_key, step
