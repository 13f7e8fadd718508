-- Each GPU as a process used it, with the identity that the file gives: host, rank,
-- product.
-- Grain: one row per (run_id, source_id, process, device_id).
--
-- run_id      Run.
-- source_id   Source file.
-- host        Host; NULL when the file does not say.
-- rank        Global rank; NULL when nothing says it, never guessed.
-- process     Process id.
-- device_id   CUDA ordinal inside the process.
-- gpu_id      Physical GPU.
-- gpu_name    Product name.
-- device_key  Number of this row: joins and windows over it are several times faster than
--             over the five names.
-- gpu_key     Number of the physical GPU within its source file; processes may share one.
SELECT
    d.run_id,
    d.source_id,
    p.host,
    p.rank,
    d.process,
    d.device_id,
    d.gpu_id,
    d.name AS gpu_name,
    row_number() OVER (ORDER BY d.run_id, d.source_id, d.process, d.device_id)
        AS device_key,
    dense_rank() OVER (ORDER BY d.run_id, d.source_id, d.gpu_id) AS gpu_key
FROM device AS d
LEFT JOIN process AS p USING (run_id, source_id, process)
WHERE d.process IS NOT NULL
