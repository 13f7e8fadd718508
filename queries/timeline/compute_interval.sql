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
        device_key, start_ns,
        max(end_ns) OVER (
            PARTITION BY device_key ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until,
        max(end_ns) OVER (PARTITION BY device_key) AS last_ns
    FROM activity
    WHERE is_compute
        AND device_key IN (SELECT device_key FROM activity WHERE is_communication)
),
-- An interval ends where what lies before the next one has ended.
merged AS (
    SELECT
        device_key,
        start_ns,
        coalesce(
            lead(covered_until) OVER (PARTITION BY device_key ORDER BY start_ns), last_ns
        ) AS end_ns
    FROM covered
    WHERE covered_until IS NULL OR start_ns > covered_until
)
SELECT
    device_key,
    start_ns,
    end_ns,
    (sum(end_ns - start_ns) OVER (
        PARTITION BY device_key ORDER BY start_ns ROWS UNBOUNDED PRECEDING
    ) - (end_ns - start_ns))::BIGINT AS before_ns
FROM merged
