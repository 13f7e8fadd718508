-- Every interval in which a physical GPU did nothing between two activities, of any
-- length, with what ended before it and what began after it.
-- Grain: one row per idle interval of a GPU of a source file.
--
-- gpu_key      Physical GPU; see traced_device. Other processes' work counts as busy.
-- device_key   Device and process of the activity after it.
-- start_ns     Latest end of everything before.
-- end_ns       Start of the activity after.
-- dur_ns       Length.
-- after_kind   Kind of the activity after.
-- after_name_id  Its kernel name, NULL unless a kernel.
-- after_detail  Its direction, NULL unless a copy.
-- Of activities that start at one time the shortest comes first, so that the order of the
-- input decides nothing.
WITH ordered AS (
    SELECT
        gpu_key, device_key, start_ns, kind, name_id, detail,
        max(end_ns) OVER (
            PARTITION BY gpu_key ORDER BY start_ns, end_ns, name_id, device_key
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until
    FROM activity
)
SELECT
    gpu_key,
    device_key,
    covered_until AS start_ns,
    start_ns AS end_ns,
    hole_ns(start_ns, covered_until) AS dur_ns,
    kind AS after_kind,
    name_id AS after_name_id,
    detail AS after_detail
FROM ordered
WHERE start_ns > covered_until
