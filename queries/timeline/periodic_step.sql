-- Training steps on devices without any annotated or logged ones: by the sequence in
-- which kernels repeat.
-- Grain: one row per (device_key, step).
--
-- device_key   See traced_device.
-- step         Number of the step, from 0.
-- start_ns     Start of the kernel that marks it.
-- work_end_ns  Last end of everything that starts before the next step.
-- confidence   See kernel_period.
WITH period AS MATERIALIZED (FROM kernel_period),
-- Without ranges a step's work ends where everything before the next step's first kernel
-- has ended.
mark AS (
    SELECT device_key, name_id, unnest(starts_ns) AS start_ns FROM period
),
marked AS (
    SELECT
        a.device_key,
        a.start_ns,
        k.confidence,
        m.start_ns IS NOT NULL AS is_mark,
        max(a.end_ns) OVER (
            PARTITION BY a.device_key ORDER BY a.start_ns, is_mark DESC, a.end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until,
        max(a.end_ns) OVER (PARTITION BY a.device_key) AS last_ns
    FROM period AS k
    JOIN activity AS a USING (device_key)
    LEFT JOIN mark AS m
        ON m.device_key = a.device_key
        AND m.name_id = a.name_id
        AND m.start_ns = a.start_ns
)
SELECT
    device_key,
    row_number() OVER in_order - 1 AS step,
    start_ns,
    coalesce(lead(covered_until) OVER in_order, last_ns) AS work_end_ns,
    confidence
FROM marked
WHERE is_mark
WINDOW in_order AS (PARTITION BY device_key ORDER BY start_ns)
