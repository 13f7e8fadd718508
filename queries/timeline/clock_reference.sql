-- What is ordinary for a GPU: its clock under work while nothing held it down, that of
-- its peers (GPUs of the same product in the run), and its power limit.
-- Grain: one row per telemetry_key.
--
-- telemetry_key  See telemetry_gpu.
-- own_clock_hz   Median SM clock under work without a reason for slowdown; NULL for a GPU
--                slowed down all along, which does not show what is ordinary.
-- peer_clock_hz  Median of the peers' own clocks; NULL with fewer than peer_gpu_count.
-- peer_count     GPUs of the product in the run with a clock.
-- power_limit_w  Median power limit in force, as sampled; else the product's.
-- limit_source   sampled or product; NULL when neither is known.
WITH own AS (
    SELECT
        telemetry_key,
        -- 232: hardware slowdown, both thermal ones, power brake.
        coalesce(
            median(sm_clock_hz) FILTER (is_active AND coalesce(reasons & 232, 0) = 0),
            median(sm_clock_hz) FILTER (
                is_active IS NOT FALSE AND coalesce(reasons & 232, 0) = 0
            )
        ) AS own_clock_hz,
        median(power_limit_w) AS power_limit_w
    FROM gpu_round
    GROUP BY telemetry_key
),
product AS (
    SELECT n.gpu_name, min(r.tdp_w) AS tdp_w
    FROM (SELECT DISTINCT gpu_name FROM telemetry_gpu) AS n
    JOIN gpu AS r ON n.gpu_name ILIKE r.pattern
    GROUP BY n.gpu_name
    HAVING count(DISTINCT r.tdp_w) = 1
),
known AS (
    SELECT
        o.telemetry_key, g.run_id, g.gpu_key, g.gpu_name, o.own_clock_hz,
        coalesce(o.power_limit_w, p.tdp_w) AS power_limit_w,
        CASE WHEN o.power_limit_w IS NOT NULL THEN 'sampled'
            WHEN p.tdp_w IS NOT NULL THEN 'product' END AS limit_source
    FROM own AS o
    JOIN telemetry_gpu AS g USING (telemetry_key)
    LEFT JOIN product AS p USING (gpu_name)
),
peer AS (
    SELECT
        run_id, gpu_name,
        median(clock_hz) AS peer_clock_hz,
        count(clock_hz) AS peer_count
    FROM (
        -- A GPU that two files tell of is one.
        SELECT run_id, gpu_name, gpu_key, max(own_clock_hz) AS clock_hz
        FROM known
        GROUP BY run_id, gpu_name, gpu_key
    )
    GROUP BY run_id, gpu_name
)
SELECT
    k.telemetry_key,
    k.own_clock_hz,
    CASE WHEN p.peer_count >= threshold_of('peer_gpu_count') THEN p.peer_clock_hz END
        AS peer_clock_hz,
    p.peer_count,
    k.power_limit_w,
    k.limit_source
FROM known AS k
LEFT JOIN peer AS p
    ON p.run_id = k.run_id
    AND p.gpu_name IS NOT DISTINCT FROM k.gpu_name
