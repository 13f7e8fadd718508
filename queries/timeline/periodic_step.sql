-- Training steps on devices without any annotated or logged ones: by the sequence in
-- which kernels repeat. Where the optimizer's kernels are in it, a step begins behind the
-- last of them, as ranges of steps do: what a rank is late by and what others wait for it
-- are then in one step. Else it begins with the kernel that marks the sequence.
-- Grain: one row per (device_key, step).
--
-- device_key   See traced_device.
-- step         Number of the step, from 0.
-- start_ns     Start of its first kernel.
-- work_end_ns  Last end of everything that starts before the next step.
-- confidence   See kernel_period.
-- is_cut_off   Whether the capture ends before it does, or may do so.
WITH period AS MATERIALIZED (FROM kernel_period),
mark AS MATERIALIZED (
    SELECT device_key, unnest(starts_ns) AS start_ns FROM period
),
executed AS MATERIALIZED (
    SELECT o.device_key, o.place, o.start_ns, n.class = 'optimizer' AS is_optimizer
    FROM kernel_order AS o
    JOIN classified_kernel_name AS n USING (name_id)
    SEMI JOIN period AS p ON p.device_key = o.device_key
),
-- From mark to mark each step's optimizer runs once, however often its kernels do.
updated AS (
    SELECT e.device_key, m.start_ns AS mark_ns, max(e.place) AS place
    FROM executed AS e
    ASOF LEFT JOIN mark AS m
        ON m.device_key = e.device_key AND e.start_ns >= m.start_ns
    WHERE e.is_optimizer
    GROUP BY e.device_key, m.start_ns
),
spaced AS (
    SELECT *, place - lag(place) OVER (
        PARTITION BY device_key ORDER BY place
    ) AS kernel_count
    FROM updated
),
usual AS (
    SELECT
        s.device_key, min(s.place) AS first_place, max(s.place) AS last_place,
        median(s.kernel_count)::BIGINT AS kernel_count
    FROM spaced AS s
    JOIN period AS p USING (device_key)
    GROUP BY s.device_key, p.step_count
    -- The last one's may be cut off.
    HAVING count(s.mark_ns) >= p.step_count - 1 AND count(s.kernel_count) > 0
),
begun AS (
    SELECT s.device_key, s.place + 1 AS place
    FROM spaced AS s
    SEMI JOIN usual AS u USING (device_key)
    UNION ALL
    -- What precedes the first update is a step if it is as long as one.
    SELECT device_key, greatest(1, first_place - kernel_count + 1)
    FROM usual
    WHERE first_place >= 0.9 * kernel_count
),
start AS MATERIALIZED (
    SELECT e.device_key, e.start_ns
    FROM begun AS b
    JOIN executed AS e USING (device_key, place)
    UNION
    SELECT device_key, start_ns
    FROM mark
    WHERE device_key NOT IN (SELECT device_key FROM usual)
),
-- Without ranges a step's work ends where everything before the next step's first kernel
-- has ended.
ended AS (
    SELECT a.device_key, s.start_ns, max(a.end_ns) AS end_ns
    FROM activity AS a
    ASOF JOIN start AS s ON s.device_key = a.device_key AND a.start_ns >= s.start_ns
    GROUP BY a.device_key, s.start_ns
)
SELECT
    e.device_key,
    row_number() OVER in_order - 1 AS step,
    e.start_ns,
    max(e.end_ns) OVER in_order AS work_end_ns,
    p.confidence,
    lead(e.start_ns) OVER in_order IS NULL AND NOT coalesce(
        u.last_place = l.place, false
    ) AS is_cut_off
FROM ended AS e
JOIN period AS p USING (device_key)
LEFT JOIN usual AS u USING (device_key)
LEFT JOIN (
    SELECT device_key, max(place) AS place FROM executed GROUP BY device_key
) AS l USING (device_key)
WINDOW in_order AS (PARTITION BY e.device_key ORDER BY e.start_ns)
