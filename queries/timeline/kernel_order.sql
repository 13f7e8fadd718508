-- Kernels of devices without annotated or logged steps, in their order: where
-- kernel_period looks for steps.
-- Grain: one row per kernel.
--
-- device_key  See traced_device.
-- name_id     Kernel's name.
-- start_ns    ns since the capture began.
-- shape       Name and grid as one number: a step often runs a kernel many times, but
--             with one shape once.
-- place       Number in the order of starts on the device, from 1.
SELECT
    d.device_key,
    k.name_id,
    k.start_ns,
    hash(k.name_id, k.grid_x, k.grid_y, k.grid_z) AS shape,
    row_number() OVER (
        PARTITION BY d.device_key ORDER BY k.start_ns, k.end_ns, k.name_id
    ) AS place
FROM kernel AS k
JOIN traced_device AS d USING (run_id, source_id, process, device_id)
WHERE d.device_key NOT IN (SELECT device_key FROM launched_step)
