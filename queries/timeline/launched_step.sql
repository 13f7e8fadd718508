-- Training steps projected to each device through the launches of all threads of the
-- process.
-- Grain: one row per (device_key, step) in which anything was launched.
--
-- device_key    See traced_device.
-- step          See step_range.
-- name          Text of the range; NULL from a log.
-- start_ns      First start on the device of work launched in it.
-- work_end_ns   Last end of that work.
-- host_start_ns  Start on the host.
-- host_end_ns   End on the host.
-- origin        See step_range.
-- confidence    See step_range.
-- Text keys of each launch would cost more than all the rest.
WITH own_range AS MATERIALIZED (
    SELECT
        d.device_key, s.step, s.name, s.start_ns, s.end_ns, s.origin, s.confidence
    FROM step_range AS s
    JOIN traced_device AS d USING (run_id, source_id, process)
)
SELECT
    l.device_key,
    s.step,
    any_value(s.name) AS name,
    min(l.start_ns) AS start_ns,
    max(l.end_ns) AS work_end_ns,
    s.start_ns AS host_start_ns,
    any_value(s.end_ns) AS host_end_ns,
    any_value(s.origin) AS origin,
    any_value(s.confidence) AS confidence
FROM launched_activity AS l
ASOF JOIN own_range AS s
    ON s.device_key = l.device_key AND l.call_start_ns >= s.start_ns
WHERE l.call_start_ns < s.end_ns
GROUP BY l.device_key, s.step, s.start_ns
