-- In what a rank differs from the median rank: its mean time per step, part by part, over
-- the steps of rank_step.
-- Grain: one row per (run_id, rank, host, device_id, process, source_id, part).
--
-- run_id       Run.
-- rank         Global rank; NULL when the trace does not say.
-- host         Host; NULL when the trace does not say.
-- device_id    CUDA ordinal inside the process.
-- process      Process id.
-- part         own_time (step without exposed communication), slower_kernels,
--              more_kernels (compute by duration of the same kernels, and by number or
--              grid), exposed_wait (no row
--              where unknown: then it is in the transfer), exposed_transfer,
--              exposed_memory, or idle: and a cause of kernel_gap_cause, or idle: lead_in
--              for the part of the first step before anything ran; see device_step.
-- step_count   Steps.
-- rank_count   Ranks compared.
-- mean_ns      Mean per step; of slower_kernels and more_kernels the difference itself.
-- median_ns    Lower median over ranks of the same: up to half of them may be late.
-- difference_ns  mean - median.
-- source_id    Source file.
WITH timed AS MATERIALIZED (
    SELECT
        device_key, run_id, step, own_ns, exposed_wait_ns, exposed_transfer_ns,
        exposed_memory_ns
    FROM rank_step
),
counted AS (
    SELECT device_key, run_id, count(*) AS step_count FROM timed GROUP BY ALL
),
split AS (
    SELECT
        t.device_key,
        sum(t.own_ns) AS own_time,
        sum(t.exposed_wait_ns) AS exposed_wait,
        sum(t.exposed_transfer_ns) AS exposed_transfer,
        sum(t.exposed_memory_ns) AS exposed_memory
    FROM timed AS t
    GROUP BY t.device_key
),
idle AS (
    SELECT d.device_key, 'idle: ' || c.cause AS part, sum(c.total_ns) AS total_ns
    FROM kernel_gap_cause AS c
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    SEMI JOIN timed AS t ON t.device_key = d.device_key AND t.step = c.step
    GROUP BY d.device_key, c.cause
    UNION ALL
    SELECT s.device_key, 'idle: lead_in', s.lead_in_ns
    FROM device_step AS s
    SEMI JOIN timed AS t USING (device_key, step)
    WHERE s.lead_in_ns > 0
),
-- The same kernels, longer; or more of them, or with other grids: other work.
kernel_time AS (
    SELECT
        a.device_key, t.run_id, a.shape,
        sum(a.kernel_count) / any_value(n.step_count) AS per_step,
        sum(a.total_ns) / sum(a.kernel_count) AS mean_ns
    FROM step_kernel AS a
    JOIN timed AS t USING (device_key, step)
    JOIN counted AS n USING (device_key)
    GROUP BY a.device_key, t.run_id, a.shape
),
-- A kernel that a rank does not run is run 0 times.
kernel_median AS (
    SELECT
        c.device_key,
        coalesce(k.per_step, 0) AS per_step,
        coalesce(k.mean_ns, n.median_ns) AS mean_ns,
        n.median_ns,
        quantile_disc(coalesce(k.per_step, 0), 0.5) OVER (PARTITION BY n.run_id, n.shape)
            AS median_per_step
    FROM (
        SELECT run_id, shape, quantile_disc(mean_ns, 0.5) AS median_ns
        FROM kernel_time
        GROUP BY run_id, shape
    ) AS n
    JOIN counted AS c USING (run_id)
    LEFT JOIN kernel_time AS k USING (device_key, shape)
),
kernel_part AS (
    SELECT
        device_key,
        sum(per_step * (mean_ns - median_ns)) AS slower_kernels,
        sum((per_step - median_per_step) * median_ns) AS more_kernels
    FROM kernel_median
    GROUP BY device_key
),
part AS (
    UNPIVOT (
        SELECT
            s.device_key,
            s.own_time / n.step_count AS own_time,
            s.exposed_wait / n.step_count AS exposed_wait,
            s.exposed_transfer / n.step_count AS exposed_transfer,
            s.exposed_memory / n.step_count AS exposed_memory,
            coalesce(k.slower_kernels, 0) AS slower_kernels,
            coalesce(k.more_kernels, 0) AS more_kernels
        FROM split AS s
        JOIN counted AS n USING (device_key)
        LEFT JOIN kernel_part AS k USING (device_key)
    )
    ON COLUMNS(* EXCLUDE (device_key))
    INTO NAME part VALUE mean_ns
    UNION ALL
    -- A cause that a rank lacks is a time of 0; where clocks disagree none is known.
    SELECT n.device_key, c.part, coalesce(i.total_ns, 0) / n.step_count
    FROM counted AS n
    JOIN (
        SELECT DISTINCT k.run_id, i.part
        FROM idle AS i
        JOIN counted AS k USING (device_key)
    ) AS c USING (run_id)
    LEFT JOIN idle AS i ON i.device_key = n.device_key AND i.part = c.part
    WHERE i.device_key IS NOT NULL
        OR c.part IN ('idle: short_gap', 'idle: lead_in')
        OR n.device_key NOT IN (SELECT device_key FROM clock_check WHERE NOT is_aligned)
)
SELECT
    d.run_id,
    d.rank,
    d.host,
    d.device_id,
    d.process,
    p.part,
    n.step_count,
    count(*) OVER same AS rank_count,
    p.mean_ns,
    quantile_disc(p.mean_ns, 0.5) OVER same AS median_ns,
    p.mean_ns - quantile_disc(p.mean_ns, 0.5) OVER same AS difference_ns,
    d.source_id
FROM part AS p
JOIN counted AS n USING (device_key)
JOIN traced_device AS d USING (device_key)
WINDOW same AS (PARTITION BY d.run_id, p.part)
ORDER BY
    d.run_id, d.rank, d.host, d.device_id, d.process, d.source_id, difference_ns DESC,
    p.part
