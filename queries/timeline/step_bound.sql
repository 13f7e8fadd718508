-- From when to when work belongs to a step, on either clock: by its launch on the host,
-- where steps are ranges; else by its start on the device. What is launched between two
-- steps belongs to the later one, as does the idle time between them.
-- Grain: one row per (device_key, step, is_host).
--
-- device_key  See traced_device.
-- step        See device_step.
-- is_host     Whether the bounds are times of launches; else of starts on the device.
-- from_ns     First moment that belongs to the step.
-- until_ns    First moment behind it.
-- begin_ns    Begin of the device's first step: idle time before it is nobody's.
WITH own_step AS MATERIALIZED (FROM device_step)
SELECT
    device_key,
    step,
    true AS is_host,
    coalesce(lag(host_end_ns) OVER in_order, host_start_ns) AS from_ns,
    host_end_ns AS until_ns,
    min(begin_ns) OVER (PARTITION BY device_key) AS begin_ns
FROM own_step
WHERE host_start_ns IS NOT NULL
WINDOW in_order AS (PARTITION BY device_key ORDER BY host_start_ns, step)
UNION ALL
SELECT
    device_key,
    step,
    false,
    begin_ns,
    end_ns,
    min(begin_ns) OVER (PARTITION BY device_key)
FROM own_step
