-- Whether the clocks of CPU and GPU agree: no kernel can start before its launch call.
-- Grain: one row per device_key with any launched work.
--
-- device_key     See traced_device.
-- launched_count  Activities with a recorded launch call.
-- early_count    Of these, those that start before that call.
-- worst_early_ns  How long before, at worst; 0 when none does.
-- is_aligned     Whether times of CPU and GPU can be compared; see threshold
--                clock_early_share.
SELECT
    device_key,
    count(*) AS launched_count,
    count(*) FILTER (start_ns < call_start_ns) AS early_count,
    greatest(0, max(call_start_ns - start_ns)) AS worst_early_ns,
    early_count <= threshold_of('clock_early_share') * launched_count AS is_aligned
FROM launched_activity
GROUP BY device_key
