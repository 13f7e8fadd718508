-- Speed of light of kernels under Nsight Compute: throughput against peak, and what
-- limits each by ncu's own rule. The clocks of the profile are ncu's, not the job's.
-- Grain: one row per (run_id, source_id, kernel_id).
--
-- run_id         Run.
-- host           Host; NULL when the file does not say.
-- rank           Global rank; NULL when the file does not say.
-- gpu_name       Product name of the GPU; NULL when nothing says it.
-- name           Kernel.
-- class          compute bound, memory bound, latency bound or balanced; NULL: see
--                reason.
-- is_high        Whether it uses at least threshold sol_high_share of a unit: ncu sees
--                little left to gain. Its class is then the unit used most.
-- is_small_grid  Latency bound because the grid is smaller than one wave; NULL when the
--                waves are unknown.
-- compute_share  Compute (SM) throughput / peak.
-- memory_share   Memory throughput / peak.
-- dram_share     DRAM throughput / peak.
-- l2_share       L2 throughput / peak.
-- l1_share       L1 throughput / peak, of active cycles.
-- tensor_pipe_share  Tensor pipe active / elapsed cycles: mma and wgmma instructions.
-- tc_pipe_share  Second tensor pipe of Blackwell (tcgen05) active / elapsed cycles; NULL
--                on other GPUs.
-- wave_count     Waves of blocks per SM.
-- grid_block_count  Blocks of the grid.
-- block_thread_count  Threads of a block.
-- clock_hz       SM clock while it was profiled.
-- clock_share    clock / the SM's maximum clock.
-- is_clock_locked  Whether ncu held the clocks at their base (its default): durations and
--                FLOP/s are then lower than in the job.
-- profiled_ns    Duration under ncu, never part of a job's time.
-- reason         Why there is no class.
-- kernel_id      Kernel within its source file.
-- source_id      Source file.
SELECT
    k.run_id,
    f.host,
    f.rank,
    g.gpu_name,
    k.name,
    p.class,
    p.is_high,
    p.is_small_grid,
    p.compute_share,
    p.memory_share,
    m.metric['gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed'] / 100
        AS dram_share,
    m.metric['lts__throughput.avg.pct_of_peak_sustained_elapsed'] / 100 AS l2_share,
    m.metric['l1tex__throughput.avg.pct_of_peak_sustained_active'] / 100 AS l1_share,
    m.metric['sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed'] / 100
        AS tensor_pipe_share,
    m.metric['sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_elapsed'] / 100
        AS tc_pipe_share,
    p.wave_count,
    k.grid_block_count,
    k.block_thread_count,
    p.clock_hz,
    p.clock_share,
    p.is_clock_locked,
    m.metric['gpu__time_duration.sum']::BIGINT AS profiled_ns,
    CASE WHEN p.class IS NULL THEN concat(
        concat_ws(
            ' and ',
            CASE WHEN p.compute_share IS NULL THEN 'Compute (SM) Throughput' END,
            CASE WHEN p.memory_share IS NULL THEN 'Memory Throughput' END
        ),
        ' not collected; profile with --section SpeedOfLight'
    ) END AS reason,
    k.kernel_id,
    k.source_id
FROM kernel_profile AS k
JOIN profiled_kernel AS p USING (run_id, source_id, kernel_id)
JOIN profiled_gpu AS g USING (run_id, source_id, kernel_id)
LEFT JOIN profiled_metric AS m USING (run_id, source_id, kernel_id)
LEFT JOIN source_file AS f USING (run_id, source_id)
ORDER BY k.run_id, k.source_id, k.kernel_id
