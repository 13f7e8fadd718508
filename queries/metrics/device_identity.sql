-- Which sampled GPU is which traced device, so that telemetry and captures meet: by UUID,
-- by PCI bus id, or on hosts of which a capture lists every GPU by the order of the bus
-- ids, which is how the driver numbers them. And how their times meet: by the time of
-- day, or by activity (see activity_alignment), or not at all.
-- Grain: one row per (run_id, source_id, process, device_id, telemetry_source_id).
--
-- run_id       Run.
-- host         Host of the traced device.
-- rank         Global rank; NULL when unknown.
-- process      Process id.
-- device_id    CUDA ordinal inside the process.
-- gpu_id       Physical GPU as the capture says it.
-- telemetry_gpu_id  Physical GPU as the telemetry says it.
-- telemetry_device_id  Its index on the host.
-- matched_by   uuid, bus id or bus order.
-- aligned_by   utc, local, activity or none.
-- offset_ns    To add to the telemetry's times to get the capture's; NULL with none.
-- confidence   1 for a time of day; by activity the correlation; NULL with none.
-- reason       Why times do not meet; NULL when they do.
-- telemetry_source_id  Source file of the telemetry.
-- source_id    Source file of the capture.
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.process,
    d.device_id,
    d.gpu_id,
    g.gpu_id AS telemetry_gpu_id,
    g.device_id AS telemetry_device_id,
    p.matched_by,
    CASE
        WHEN c.clock = g.clock THEN c.clock
        WHEN a.offset_ns IS NOT NULL THEN 'activity'
        ELSE 'none'
    END AS aligned_by,
    CASE WHEN c.clock = g.clock THEN g.zero_ns - c.zero_ns ELSE a.offset_ns END
        AS offset_ns,
    CASE WHEN c.clock = g.clock THEN 1 ELSE a.confidence END AS confidence,
    CASE
        WHEN c.clock = g.clock OR a.offset_ns IS NOT NULL THEN NULL
        WHEN a.reason IS NOT NULL THEN a.reason
        WHEN g.first_ns IS NULL THEN 'the telemetry has rounds but no times'
        ELSE 'no common clock, and no use of the GPU was sampled'
    END AS reason,
    g.source_id AS telemetry_source_id,
    d.source_id
FROM telemetry_device AS p
JOIN traced_device AS d USING (device_key)
JOIN telemetry_gpu AS g USING (telemetry_key)
LEFT JOIN source_clock AS c ON c.run_id = d.run_id AND c.source_id = d.source_id
LEFT JOIN activity_alignment AS a USING (device_key, telemetry_key)
ORDER BY
    d.run_id, d.host, d.rank, d.process, d.device_id, d.source_id, telemetry_source_id
