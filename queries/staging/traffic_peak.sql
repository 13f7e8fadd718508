-- What the paths of each sampled GPU carry: device memory and NVLink as its device row or
-- run.toml tells, PCIe as telemetry tells; per direction, unless both together.
-- Grain: one row per (run_id, source_id, host, gpu_id, path, direction).
--
-- run_id     Run.
-- source_id  Source file.
-- host       Host; NULL when the source does not say.
-- gpu_id     Physical GPU.
-- path       pcie, nvlink or dram.
-- direction  tx, rx, or both together.
-- gpu_name   Product name; NULL when nothing tells it.
-- peak_bytes_per_s  What it carries; NULL when not known.
-- peak_source  What that rests on; NULL when not known.
-- reason     Why it is not known; else NULL.
WITH sampled AS (
    SELECT DISTINCT run_id, source_id, host, gpu_id, path, direction FROM traffic_reading
),
device AS (
    SELECT
        run_id, source_id, gpu_id,
        any_value(gpu_name) AS gpu_name,
        any_value(gpu) AS gpu,
        any_value(reason) AS reason,
        max(memory_bytes_per_s) AS memory_bytes_per_s,
        any_value(memory_source) AS memory_source,
        max(nvlink_bytes_per_s) AS nvlink_bytes_per_s
    FROM device_reference
    WHERE origin = 'device'
    GROUP BY run_id, source_id, gpu_id
),
-- Telemetry that names no GPU: run.toml or the job's own traces may.
described AS (
    SELECT f.run_id, f.value_text AS gpu_name, m.gpu, m.reason
    FROM run_fact AS f
    JOIN gpu_name AS m ON m.gpu_name = f.value_text
    WHERE f.key = 'hardware.gpu' AND f.source <> 'trace'
),
-- What one source tells of a GPU's link holds for its samples in others.
slot AS (
    SELECT run_id, host, gpu_id, max(generation) AS generation, max(width) AS width
    FROM pcie_link
    GROUP BY run_id, host, gpu_id
),
referred AS (
    SELECT
        s.*,
        coalesce(d.gpu_name, r.gpu_name) AS gpu_name,
        coalesce(d.gpu, r.gpu) AS gpu,
        CASE s.path
            WHEN 'dram'
                THEN coalesce(d.memory_bytes_per_s, g.memory_bytes_per_s)::DOUBLE
            WHEN 'nvlink' THEN g.nvlink_bytes_per_s::DOUBLE
            ELSE l.bytes_per_s::DOUBLE
        END AS one_way,
        CASE s.path
            WHEN 'pcie' THEN 'telemetry: ' || l.name
            WHEN 'dram' THEN CASE WHEN d.memory_source = 'trace'
                THEN 'trace: the device says it' ELSE 'data sheet: ' || g.gpu END
            ELSE 'data sheet: ' || g.gpu
        END AS peak_source,
        CASE
            WHEN s.path = 'pcie'
                THEN 'PCIe generation and width of the link are not known'
            WHEN coalesce(d.gpu_name, r.gpu_name) IS NULL THEN 'nothing names the GPU'
            WHEN g.gpu IS NULL THEN coalesce(d.reason, r.reason)
            ELSE 'the data sheet gives none'
        END AS why_not
    FROM sampled AS s
    LEFT JOIN device AS d
        ON d.run_id = s.run_id AND d.source_id = s.source_id AND d.gpu_id = s.gpu_id
    LEFT JOIN described AS r ON r.run_id = s.run_id AND d.gpu_name IS NULL
    LEFT JOIN gpu AS g ON g.gpu = coalesce(d.gpu, r.gpu)
    LEFT JOIN slot AS p
        ON s.path = 'pcie'
        AND p.run_id = s.run_id
        AND p.gpu_id = s.gpu_id
        AND p.host IS NOT DISTINCT FROM s.host
    LEFT JOIN link_speed AS l
        ON l.link = 'pcie' AND l.generation = p.generation AND l.width = p.width
)
SELECT
    run_id,
    source_id,
    host,
    gpu_id,
    path,
    direction,
    gpu_name,
    -- Memory has one peak for reads and writes; a link has one per direction.
    one_way * CASE WHEN direction = 'both' AND path <> 'dram' THEN 2 ELSE 1 END
        AS peak_bytes_per_s,
    CASE WHEN one_way IS NOT NULL THEN peak_source END AS peak_source,
    CASE WHEN one_way IS NULL THEN why_not END AS reason
FROM referred
