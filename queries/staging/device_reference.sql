-- What each GPU can do at most. What the traces say of the device itself counts first
-- (nsys TARGET_INFO_GPU, ncu's device attributes), then the data sheet of its exact name.
-- Grain: one row per device of a source, as device and ncu's profiles tell.
--
-- run_id        Run.
-- source_id     Source file.
-- origin        device, or ncu for a GPU that a profile tells of.
-- process       Process id; NULL where no traced process used it, and for ncu.
-- device_id     CUDA ordinal; NULL where unknown.
-- gpu_id        Physical GPU; NULL for ncu.
-- uuid          UUID without GPU-.
-- bus_id        PCI bus id.
-- gpu_name      Product name; where the source gives none, the one of run_fact.
-- is_name_described  Whether the name is the one of run_fact.
-- gpu           Row of reference table gpu; NULL when there is none of this name.
-- reason        Why there is none; else NULL.
-- memory_bytes_per_s  Peak device memory bandwidth; NULL when nothing tells it.
-- memory_source  What it rests on: trace, device attributes, data sheet; NULL without.
-- traced_memory_bytes_per_s  As the trace says.
-- traced_memory_bytes  Size of device memory as the trace says.
-- traced_sm_count  Streaming multiprocessors as the trace says.
-- traced_clock_hz  Highest SM clock as the trace says.
-- nvlink_bytes_per_s  All NVLinks of the GPU together, per direction, by the data sheet.
-- nvlink_generation  Generation of NVLink, by the data sheet.
-- pcie_generation  The fastest of the GPU, by the data sheet: its slot may be slower.
-- pcie_width    Lanes, by the data sheet.
WITH attribute AS (
    SELECT
        m.run_id,
        m.source_id,
        p.device_id,
        any_value(m.text ORDER BY m.kernel_id)
            FILTER (m.metric = 'device__attribute_display_name') AS gpu_name,
        -- Two transfers per clock of the memory; the attribute counts kHz.
        2 * 1000 * max(m.value) FILTER (m.metric = 'device__attribute_memory_clock_rate')
            * max(m.value) FILTER (m.metric = 'device__attribute_global_memory_bus_width')
            / 8 AS memory_bytes_per_s,
        max(m.value) FILTER (m.metric = 'device__attribute_multiprocessor_count')
            AS sm_count,
        1000 * max(m.value) FILTER (m.metric = 'device__attribute_clock_rate') AS clock_hz
    FROM kernel_metric AS m
    JOIN kernel_profile AS p USING (run_id, source_id, kernel_id)
    WHERE m.metric IN (
        'device__attribute_display_name', 'device__attribute_memory_clock_rate',
        'device__attribute_global_memory_bus_width',
        'device__attribute_multiprocessor_count', 'device__attribute_clock_rate'
    )
    GROUP BY m.run_id, m.source_id, p.device_id
),
profiled AS (
    SELECT DISTINCT run_id, source_id, device_id FROM kernel_profile
),
told AS (
    SELECT
        run_id, source_id, 'device' AS origin, process, device_id, gpu_id, uuid, bus_id,
        name, memory_bytes, memory_bandwidth_bytes_per_s AS memory_bytes_per_s, sm_count,
        clock_hz, 'trace' AS memory_source
    FROM device
    UNION ALL
    SELECT
        p.run_id, p.source_id, 'ncu', NULL, p.device_id, NULL, NULL, NULL,
        -- The session page names the GPU of device 0.
        coalesce(
            a.gpu_name, CASE WHEN coalesce(p.device_id, 0) = 0 THEN s.gpu_name END
        ),
        NULL, a.memory_bytes_per_s, a.sm_count, a.clock_hz, 'device attributes'
    FROM profiled AS p
    LEFT JOIN attribute AS a
        ON a.run_id = p.run_id
        AND a.source_id = p.source_id
        AND a.device_id IS NOT DISTINCT FROM p.device_id
    LEFT JOIN profiler_session AS s ON s.run_id = p.run_id AND s.source_id = p.source_id
),
-- Told of the whole job; that a trace names one GPU says nothing of the others.
described AS (
    SELECT run_id, value_text
    FROM run_fact
    WHERE key = 'hardware.gpu' AND source <> 'trace'
),
named AS (
    SELECT
        t.* EXCLUDE (name),
        coalesce(t.name, f.value_text) AS gpu_name,
        t.name IS NULL AND f.value_text IS NOT NULL AS is_name_described
    FROM told AS t
    LEFT JOIN described AS f ON f.run_id = t.run_id
)
SELECT
    n.run_id,
    n.source_id,
    n.origin,
    n.process,
    n.device_id,
    n.gpu_id,
    n.uuid,
    n.bus_id,
    n.gpu_name,
    n.is_name_described,
    m.gpu,
    CASE WHEN n.gpu_name IS NULL THEN 'nothing names the GPU' ELSE m.reason END AS reason,
    coalesce(n.memory_bytes_per_s, g.memory_bytes_per_s)::DOUBLE AS memory_bytes_per_s,
    CASE
        WHEN n.memory_bytes_per_s IS NOT NULL THEN n.memory_source
        WHEN g.memory_bytes_per_s IS NOT NULL THEN 'data sheet'
    END AS memory_source,
    n.memory_bytes_per_s::DOUBLE AS traced_memory_bytes_per_s,
    n.memory_bytes AS traced_memory_bytes,
    n.sm_count::INTEGER AS traced_sm_count,
    n.clock_hz::BIGINT AS traced_clock_hz,
    g.nvlink_bytes_per_s::DOUBLE AS nvlink_bytes_per_s,
    g.nvlink_generation::INTEGER AS nvlink_generation,
    g.pcie_generation::INTEGER AS pcie_generation,
    g.pcie_width::INTEGER AS pcie_width
FROM named AS n
LEFT JOIN gpu_name AS m ON m.gpu_name = n.gpu_name
LEFT JOIN gpu AS g ON g.gpu = m.gpu
