-- Every interval in which a physical GPU did nothing between two activities, of any
-- length.
-- Grain: one row per idle interval of a GPU of a source file.
--
-- gpu_key   Physical GPU; see traced_device. Other processes' work counts as busy.
-- start_ns  Latest end of everything before.
-- end_ns    Earliest start of everything after.
-- dur_ns    Length.
WITH ordered AS (
    SELECT
        gpu_key, start_ns,
        max(end_ns) OVER (
            PARTITION BY gpu_key ORDER BY start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until
    FROM activity
)
SELECT
    gpu_key,
    covered_until AS start_ns,
    start_ns AS end_ns,
    hole_ns(start_ns, covered_until) AS dur_ns
FROM ordered
WHERE start_ns > covered_until
