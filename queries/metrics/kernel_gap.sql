-- Every gap of a device: an interval of at least threshold kernel_gap_ns between two
-- activities in which nothing ran on any stream, with the activity before and after.
-- Grain: one row per gap.
--
-- run_id      Run.
-- host        Host; NULL when the trace does not say.
-- rank        Global rank of the process whose work ends the gap; NULL when unknown.
-- device_id   CUDA ordinal inside that process.
-- process     Process whose work ends the gap.
-- gpu_id      Physical GPU; the work of every process on it counts as busy.
-- start_ns    End of the last activity before, ns since the capture began.
-- end_ns      Start of the first activity after.
-- dur_ns      Length of the gap.
-- before_kind  kernel, graph_launch, memory_copy or memory_set.
-- before_name  Kernel name, or direction of the copy; NULL for other kinds.
-- after_kind  kernel, graph_launch, memory_copy or memory_set.
-- after_name  Kernel name, or direction of the copy; NULL for other kinds.
-- source_id   Source file.
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    d.gpu_id,
    g.start_ns,
    g.end_ns,
    g.dur_ns,
    g.before.kind AS before_kind,
    coalesce(b.name, g.before.detail) AS before_name,
    g.after.kind AS after_kind,
    coalesce(a.name, g.after.detail) AS after_name,
    d.source_id
FROM device_gap AS g
JOIN traced_device AS d ON d.device_key = g.after.device_key
LEFT JOIN classified_kernel_name AS b ON b.name_id = g.before.name_id
LEFT JOIN classified_kernel_name AS a ON a.name_id = g.after.name_id
ORDER BY d.run_id, d.host, d.rank, d.gpu_id, d.source_id, g.start_ns
