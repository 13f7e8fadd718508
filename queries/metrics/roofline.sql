-- Roofline points of kernels under Nsight Compute: work of each kind against traffic of
-- each memory level, as ncu's own charts draw them. Peaks are those of the profile, at
-- the clocks it ran with; they are dense, also where ncu counts sparse work. Kinds that a
-- kernel has no work of have no row.
-- Grain: one row per (run_id, source_id, kernel_id, level, work).
--
-- run_id           Run.
-- host             Host; NULL when the file does not say.
-- rank             Global rank; NULL when the file does not say.
-- gpu_name         Product name of the GPU; NULL when nothing says it.
-- name             Kernel.
-- level            DRAM, L2 or L1.
-- work             fp64, fp32, fp16, or of tensor cores: tensor bf16, tensor fp8, ...
-- class            What limits it by speed of light: compute bound, memory bound, latency
--                  bound, balanced; NULL when not collected.
-- intensity        FLOP per byte of this level; NULL when no byte was moved.
-- ridge            peak FLOP/s / peak bytes/s: left of it memory is the roof.
-- roof             memory or compute, whichever is lower at this intensity.
-- flops_per_s      FLOP/s of this kind (for integer kinds operations).
-- attainable_flops_per_s  The roof at this intensity.
-- roof_share       flops_per_s / attainable; above 1 where work is sparse.
-- peak_flops_per_s  Dense peak.
-- peak_flops_source  profile; else data sheet, at boost clock; NULL for no peak.
-- reference_flops_per_s  Dense peak of the data sheet; NULL for an unknown product.
-- bytes_per_s      Traffic of this level.
-- peak_bytes_per_s  Peak traffic.
-- peak_bytes_source  profile, device attributes (memory clock x bus width), data sheet.
-- memory_share     bytes_per_s / peak.
-- flop             FLOP of the kernel; NULL when its duration is unknown.
-- bytes            Bytes of the kernel; NULL when its duration is unknown.
-- is_clock_locked  Whether clocks were held at their base: peaks are then below the
--                  data sheet.
-- clock_hz         SM clock.
-- kernel_id        Kernel within its source file.
-- source_id        Source file.
WITH work AS MATERIALIZED (
    SELECT * FROM profiled_work WHERE flops_per_s > 0
),
point AS (
    SELECT
        w.*,
        t.level,
        t.bytes_per_s,
        t.peak_bytes_per_s,
        t.peak_bytes_source,
        w.flops_per_s / nullif(t.bytes_per_s, 0) AS intensity,
        w.peak_flops_per_s / t.peak_bytes_per_s AS ridge
    FROM work AS w
    JOIN profiled_traffic AS t USING (run_id, source_id, kernel_id)
),
roofed AS (
    SELECT
        *,
        CASE WHEN intensity < ridge THEN 'memory'
            WHEN ridge IS NOT NULL THEN 'compute' END AS roof,
        CASE WHEN intensity < ridge THEN intensity * peak_bytes_per_s
            WHEN ridge IS NOT NULL THEN peak_flops_per_s END AS attainable_flops_per_s
    FROM point
)
SELECT
    p.run_id,
    f.host,
    f.rank,
    g.gpu_name,
    k.name,
    p.level,
    p.work,
    s.class,
    p.intensity,
    p.ridge,
    p.roof,
    p.flops_per_s,
    p.attainable_flops_per_s,
    share_of(p.flops_per_s, p.attainable_flops_per_s) AS roof_share,
    p.peak_flops_per_s,
    p.peak_flops_source,
    p.reference_flops_per_s,
    p.bytes_per_s,
    p.peak_bytes_per_s,
    p.peak_bytes_source,
    share_of(p.bytes_per_s, p.peak_bytes_per_s) AS memory_share,
    p.flops_per_s * p.dur_ns / 1e9 AS flop,
    p.bytes_per_s * p.dur_ns / 1e9 AS bytes,
    s.is_clock_locked,
    s.clock_hz,
    p.kernel_id,
    p.source_id
FROM roofed AS p
JOIN kernel_profile AS k USING (run_id, source_id, kernel_id)
JOIN profiled_kernel AS s USING (run_id, source_id, kernel_id)
JOIN profiled_gpu AS g USING (run_id, source_id, kernel_id)
LEFT JOIN source_file AS f USING (run_id, source_id)
ORDER BY p.run_id, p.source_id, p.kernel_id, p.level, p.work
