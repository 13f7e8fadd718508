-- Where a trace says other than the data sheet of the GPU it names: one of the two is
-- wrong, or the GPU is not what its name says. What the trace says is used.
-- Grain: one row per (run_id, source_id, origin, process, device_id, gpu_id, property).
--
-- run_id      Run.
-- source_id   Source file.
-- origin      device, or ncu for a GPU that a profile tells of.
-- process     Process id; NULL where no traced process used it, and for ncu.
-- device_id   CUDA ordinal; NULL where unknown.
-- gpu_id      Physical GPU; NULL for ncu.
-- gpu_name    Product name.
-- gpu         Row of reference table gpu.
-- property    memory_bytes_per_s, memory_bytes, sm_count or clock_hz.
-- traced_value     As the trace says, in the property's unit.
-- reference_value  As the data sheet says.
-- difference_share  traced / reference - 1; beyond threshold reference_difference_share.
-- source      Of the reference.
WITH compared AS (
    SELECT
        d.run_id, d.source_id, d.origin, d.process, d.device_id, d.gpu_id, d.gpu_name,
        g.gpu, g.source,
        unnest([
            {'property': 'memory_bytes_per_s',
                'traced_value': d.traced_memory_bytes_per_s::DOUBLE,
                'reference_value': g.memory_bytes_per_s::DOUBLE},
            {'property': 'memory_bytes',
                'traced_value': d.traced_memory_bytes::DOUBLE,
                'reference_value': g.memory_bytes::DOUBLE},
            {'property': 'sm_count',
                'traced_value': d.traced_sm_count::DOUBLE,
                'reference_value': g.sm_count::DOUBLE},
            {'property': 'clock_hz',
                'traced_value': d.traced_clock_hz::DOUBLE,
                'reference_value': g.clock_hz::DOUBLE}
        ], recursive := true)
    FROM device_reference AS d
    JOIN gpu AS g ON g.gpu = d.gpu
)
SELECT
    run_id, source_id, origin, process, device_id, gpu_id, gpu_name, gpu, property,
    traced_value,
    reference_value,
    traced_value / reference_value - 1 AS difference_share,
    source
FROM compared
WHERE abs(traced_value / reference_value - 1) > threshold_of('reference_difference_share')
ORDER BY run_id, source_id, origin, process, device_id, gpu_id, property
