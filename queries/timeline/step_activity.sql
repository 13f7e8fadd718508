-- Activity by training step: what reaches over the end of a step is cut there.
-- Grain: one row per activity and step that it touches.
--
-- device_key  See traced_device.
-- step        See device_step.
-- start_ns    Start of the activity, not before the step's.
-- end_ns      End of the activity, not after the step's.
-- is_first    Whether the activity starts in this step.
-- kind        kernel, graph_launch, memory_copy or memory_set.
-- is_communication  Whether it is a communication kernel.
-- is_compute  Whether it is any other kernel, or a graph launch.
-- name_id     Kernel's name; NULL for anything else.
-- stream_id   CUDA stream.
WITH placed AS MATERIALIZED (
    SELECT
        device_key, step, begin_ns, end_ns,
        row_number() OVER (ORDER BY device_key, begin_ns) AS place
    FROM device_step
    WHERE end_ns > begin_ns
),
spanned AS (
    SELECT
        a.device_key, a.start_ns, a.end_ns, a.kind, a.is_communication, a.is_compute,
        a.name_id, a.stream_id,
        f.place AS first_place,
        -- One of no length at the begin of a step ends in no earlier one.
        greatest(f.place, l.place) AS last_place
    FROM activity AS a
    ASOF LEFT JOIN placed AS l ON l.device_key = a.device_key AND a.end_ns > l.begin_ns
    ASOF LEFT JOIN placed AS f ON f.device_key = a.device_key AND a.start_ns >= f.begin_ns
),
-- An activity that starts before the first step has no place to begin with: all steps
-- from the first on.
reached AS (
    SELECT
        s.* EXCLUDE (first_place, last_place),
        unnest(range(
            coalesce(s.first_place, b.first_place), s.last_place + 1
        )) AS place
    FROM spanned AS s
    JOIN (
        SELECT device_key, min(place) AS first_place FROM placed GROUP BY device_key
    ) AS b USING (device_key)
)
SELECT
    p.device_key,
    p.step,
    greatest(r.start_ns, p.begin_ns) AS start_ns,
    least(r.end_ns, p.end_ns) AS end_ns,
    r.start_ns >= p.begin_ns AS is_first,
    r.kind,
    r.is_communication,
    r.is_compute,
    r.name_id,
    r.stream_id
FROM reached AS r
JOIN placed AS p USING (place)
WHERE r.start_ns < p.end_ns
