-- Forward work done again right before the first backward kernel, told by names alone.
-- It stands before a later backward kernel of the same kind too, and once more often in
-- the forward pass than there are such backward kernels.
-- Grain: one row per (device_key, step) with any.
--
-- device_key  See traced_device.
-- step        Step in which it was launched.
-- stream_id   Its stream.
-- from_ns     Start of its first kernel.
-- until_ns    Start of the first backward kernel.
WITH headed AS (
    SELECT
        device_key, step, stream_id, start_ns, shape, is_backward_name,
        min(CASE WHEN is_backward_name THEN start_ns END) OVER (
            PARTITION BY device_key, step, stream_id ORDER BY start_ns, shape
            ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        ) AS head_ns
    FROM directed_kernel
    WHERE evidence = 'name'
),
-- Counted backwards from the backward kernel, which is 1.
placed AS MATERIALIZED (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY device_key, step, stream_id, head_ns
            ORDER BY start_ns DESC, shape DESC
        ) AS distance,
        head_ns = min(head_ns) OVER (PARTITION BY device_key, step) AS is_first
    FROM headed
    WHERE head_ns IS NOT NULL
),
common AS (
    SELECT
        f.device_key, f.step, f.stream_id, f.head_ns, f.distance,
        row_number() OVER (
            PARTITION BY o.device_key, o.step, o.stream_id, o.head_ns ORDER BY o.distance
        ) AS ordinal
    FROM placed AS f
    JOIN placed AS o USING (device_key, step, stream_id, distance, shape)
    WHERE f.is_first AND NOT o.is_first
),
-- Fewer than three kernels may be used by both passes.
reach AS (
    SELECT device_key, step, stream_id, head_ns, max(distance) AS distance
    FROM common
    WHERE ordinal = distance
    GROUP BY device_key, step, stream_id, head_ns
    HAVING max(distance) >= 4
),
-- How often the whole sequence can stand before the first backward kernel.
fitting AS (
    SELECT device_key, step, min(all_count // own_count) AS sequence_count
    FROM (
        SELECT
            p.device_key, p.step, p.shape, count(*) AS all_count,
            count(*) FILTER (p.distance <= r.distance) AS own_count
        FROM placed AS p
        JOIN reach AS r USING (device_key, step, stream_id, head_ns)
        WHERE p.distance > 1
        GROUP BY p.device_key, p.step, p.shape
    )
    WHERE own_count > 0
    GROUP BY device_key, step
),
backward AS (
    SELECT f.device_key, f.step, count(*) AS head_count
    FROM placed AS f
    JOIN reach AS r USING (device_key, step, stream_id, head_ns)
    JOIN placed AS b USING (device_key, step, shape)
    WHERE f.distance = 1
    GROUP BY f.device_key, f.step
)
SELECT
    r.device_key,
    r.step,
    r.stream_id,
    p.start_ns AS from_ns,
    r.head_ns AS until_ns
FROM reach AS r
JOIN placed AS p USING (device_key, step, stream_id, head_ns, distance)
JOIN fitting AS f ON f.device_key = r.device_key AND f.step = r.step
JOIN backward AS b ON b.device_key = r.device_key AND b.step = r.step
WHERE f.sequence_count > b.head_count
