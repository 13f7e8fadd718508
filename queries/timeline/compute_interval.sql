-- The union of compute of each device with any communication, as intervals that do not
-- touch: how much compute lies before a moment is one look-up in it.
-- Grain: one row per interval.
--
-- device_key  See traced_device.
-- start_ns    Start.
-- end_ns      End.
-- before_ns   Compute of the device before it.
WITH covered AS (
    SELECT
        device_key, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY device_key ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until
    FROM activity
    WHERE is_compute
        AND device_key IN (SELECT device_key FROM activity WHERE is_communication)
),
numbered AS (
    SELECT
        *,
        count(*) FILTER (covered_until IS NULL OR start_ns > covered_until) OVER (
            PARTITION BY device_key ORDER BY start_ns, end_ns
            ROWS UNBOUNDED PRECEDING
        ) AS number
    FROM covered
),
merged AS (
    SELECT device_key, number, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM numbered
    GROUP BY device_key, number
)
SELECT
    device_key,
    start_ns,
    end_ns,
    coalesce(sum(end_ns - start_ns) OVER (
        PARTITION BY device_key ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0)::BIGINT AS before_ns
FROM merged
