-- Everything that occupies a GPU, as one list of intervals: kernels, graph launches
-- recorded as a whole, memory copies and memory sets.
-- Grain: one row per activity.
--
-- run_id      Run.
-- source_id   Source file.
-- device_key  Device and process; see traced_device.
-- gpu_key     Physical GPU; see traced_device.
-- process     Process id.
-- device_id   CUDA ordinal inside the process.
-- stream_id   CUDA stream.
-- correlation_id  Joins to api_call within the same source and process.
-- start_ns    ns since the capture began.
-- end_ns      ns since the capture began.
-- kind        kernel, graph_launch, memory_copy or memory_set.
-- is_communication  Whether it is a communication kernel, by its class.
-- is_compute  Whether it is any other kernel, or a graph launch.
-- name_id     Kernel's name; NULL for anything else.
-- detail      Direction of a copy; NULL for anything else.
WITH recorded AS (
    SELECT
        run_id, source_id, process, device_id, stream_id, correlation_id, start_ns,
        end_ns,
        'kernel' AS kind, name_id, NULL AS detail
    FROM kernel
    UNION ALL
    SELECT
        run_id, source_id, process, device_id, stream_id, correlation_id, start_ns,
        end_ns,
        'graph_launch', NULL, NULL
    FROM graph_launch
    UNION ALL
    SELECT
        run_id, source_id, process, device_id, stream_id, correlation_id, start_ns,
        end_ns,
        'memory_copy', NULL, kind
    FROM memory_copy
    UNION ALL
    SELECT
        run_id, source_id, process, device_id, stream_id, correlation_id, start_ns,
        end_ns,
        'memory_set', NULL, NULL
    FROM memory_set
)
SELECT
    r.run_id,
    r.source_id,
    d.device_key,
    d.gpu_key,
    r.process,
    r.device_id,
    r.stream_id,
    r.correlation_id,
    r.start_ns,
    r.end_ns,
    r.kind,
    coalesce(n.class = 'communication', false) AS is_communication,
    coalesce(n.class <> 'communication', r.kind = 'graph_launch') AS is_compute,
    r.name_id,
    r.detail
FROM recorded AS r
JOIN traced_device AS d
    ON d.run_id = r.run_id
    AND d.source_id = r.source_id
    AND d.process = r.process
    AND d.device_id = r.device_id
LEFT JOIN classified_kernel_name AS n ON n.name_id = r.name_id
