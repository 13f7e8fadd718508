-- What may hold a run back, and what each costs it: compute is what remains.
-- Grain: one row per (run_id, wall).
--
-- run_id       Run.
-- wall         communication, waiting, launch, input, ...
-- subject      Which rank, device or link; NULL for the whole job.
-- cost_ns      Saved per step if it vanished; NULL when unknown or where no steps are
--              known.
-- cost_share   cost / basis; NULL when unknown.
-- bound_share  Where the cost is unknown, at most this; NULL when nothing limits it.
-- basis        What shares are of: step, or span where no steps are known.
-- before_ns    Mean step as it is; NULL unless the cost of a step is known.
-- after_ns     The step without it.
-- gpu_count    GPUs of the job; NULL when nothing tells.
-- gpu_hours_per_day  GPU-hours that it costs each day that the job runs.
-- price_per_day  The same in money; NULL without a price in run.toml.
-- currency     Of the price.
-- limit_share  Cost from which on it is a wall.
-- is_wall      Whether it costs that much, or is evident whatever it costs.
-- is_open      Whether it could: the cost is unknown and not known to be less.
-- evidence_view  View that shows it.
-- evidence     Condition on its rows; NULL for all of the run.
-- reason       Why the cost is unknown; else NULL.
-- need         What to collect to know it; NULL when nothing is missing.
-- collect      The command for that.
-- collect_remark  Where to run it, and what else there is to know.
WITH candidate AS (
    FROM wall_communication
    UNION ALL
    FROM wall_waiting
    UNION ALL
    FROM wall_idle
    UNION ALL
    FROM wall_copies
    UNION ALL
    FROM wall_memory_bandwidth
    UNION ALL
    FROM wall_memory_capacity
    UNION ALL
    FROM wall_power
    UNION ALL
    FROM wall_interconnect
),
-- The allocator's idle time belongs to memory where that is full, else to the launch: the
-- same time is no two walls.
claimed AS (
    SELECT
        *,
        CASE WHEN wall = 'launch' THEN coalesce(
            max(cost_ns) FILTER (wall = 'memory capacity') OVER (PARTITION BY run_id), 0
        ) ELSE 0 END AS claimed_ns,
        CASE WHEN wall = 'launch' THEN coalesce(
            max(cost_share) FILTER (wall = 'memory capacity') OVER (PARTITION BY run_id),
            0
        ) ELSE 0 END AS claimed_share
    FROM candidate
),
limited AS (
    SELECT
        * EXCLUDE (claimed_ns, claimed_share) REPLACE (
            CASE WHEN cost_ns < claimed_ns THEN 0
                ELSE cost_ns - claimed_ns END AS cost_ns,
            CASE WHEN cost_share < claimed_share THEN 0
                ELSE cost_share - claimed_share END AS cost_share
        ),
        CASE wall
            WHEN 'communication' THEN threshold_of('communication_wall_share')
            WHEN 'memory bandwidth' THEN threshold_of('memory_bandwidth_wall_share')
            ELSE threshold_of('wall_share') END AS limit_share
    FROM claimed
)
SELECT
    l.run_id,
    l.wall,
    l.subject,
    l.cost_ns,
    l.cost_share,
    l.bound_share,
    l.basis,
    CASE WHEN l.basis = 'step' AND l.cost_share > 0 THEN l.cost_ns / l.cost_share END
        AS before_ns,
    CASE WHEN l.basis = 'step' AND l.cost_share > 0
        THEN l.cost_ns / l.cost_share - l.cost_ns END AS after_ns,
    s.gpu_count,
    gpu_hours_per_day_of(l.cost_share, s.gpu_count) AS gpu_hours_per_day,
    gpu_hours_per_day_of(l.cost_share, s.gpu_count) * s.price_per_gpu_hour
        AS price_per_day,
    s.currency,
    l.limit_share,
    l.is_evident OR coalesce(l.cost_share >= l.limit_share, false) AS is_wall,
    NOT l.is_evident
    AND l.cost_share IS NULL
    AND coalesce(l.bound_share >= l.limit_share, true) AS is_open,
    l.evidence_view,
    l.evidence,
    l.reason,
    l.need,
    c.command AS collect,
    c.remark AS collect_remark
FROM limited AS l
LEFT JOIN collect AS c USING (need)
LEFT JOIN run_scale AS s ON s.run_id = l.run_id
ORDER BY l.run_id, l.cost_share DESC NULLS LAST, l.bound_share DESC NULLS LAST, l.wall
