-- Pairs of a traced device and the telemetry of the same physical GPU.
-- Grain: one row per (device_key, telemetry_key).
--
-- device_key  See traced_device.
-- telemetry_key  See telemetry_gpu.
-- matched_by  uuid, bus id or bus order.
WITH traced AS (
    SELECT
        t.device_key, t.run_id, t.host, t.gpu_id,
        lower(coalesce(d.uuid, t.gpu_id)) AS uuid,
        -- nvidia-smi writes a domain of eight digits, others of four.
        right(lower(d.bus_id), 12) AS bus_id
    FROM traced_device AS t
    LEFT JOIN device AS d USING (run_id, source_id, process, device_id)
),
sampled AS (
    SELECT
        telemetry_key, run_id, host, device_id,
        lower(gpu_uuid) AS uuid,
        right(lower(coalesce(bus_id, gpu_id)), 12) AS bus_id
    FROM telemetry_gpu
    WHERE NOT is_profiler
),
-- Every GPU of a host that captures list, used or not, in the order of their bus ids.
listed AS (
    SELECT
        run_id, host, bus_id,
        row_number() OVER (PARTITION BY run_id, host ORDER BY bus_id) - 1 AS place,
        count(*) OVER (PARTITION BY run_id, host) AS gpu_count
    FROM (
        SELECT DISTINCT d.run_id, f.host, right(lower(d.bus_id), 12) AS bus_id
        FROM device AS d
        JOIN source_file AS f USING (run_id, source_id)
        WHERE f.format LIKE 'nsys%' AND d.bus_id IS NOT NULL AND f.host IS NOT NULL
    )
),
counted AS (
    SELECT run_id, host, count(DISTINCT device_id) AS gpu_count
    FROM sampled
    GROUP BY run_id, host
),
found AS (
    SELECT t.device_key, s.telemetry_key, 1 AS priority, 'uuid' AS matched_by
    FROM traced AS t
    JOIN sampled AS s ON s.run_id = t.run_id AND s.uuid = t.uuid
    UNION ALL
    SELECT t.device_key, s.telemetry_key, 2, 'bus id'
    FROM traced AS t
    JOIN sampled AS s
        ON s.run_id = t.run_id AND s.host = t.host AND s.bus_id = t.bus_id
    WHERE s.uuid IS NULL
    UNION ALL
    SELECT t.device_key, s.telemetry_key, 3, 'bus order'
    FROM traced AS t
    JOIN listed AS l
        ON l.run_id = t.run_id AND l.host = t.host AND l.bus_id = t.bus_id
    JOIN counted AS c
        ON c.run_id = t.run_id AND c.host = t.host AND c.gpu_count = l.gpu_count
    JOIN sampled AS s
        ON s.run_id = t.run_id AND s.host = t.host AND s.device_id = l.place
    WHERE s.uuid IS NULL
)
SELECT device_key, telemetry_key, arg_min(matched_by, priority) AS matched_by
FROM found
GROUP BY device_key, telemetry_key
