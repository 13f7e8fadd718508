-- Work of a profiled kernel by kind, and the dense peak of that kind at the clocks of the
-- profile; kinds that it was not measured for have no row.
-- Grain: one row per (run_id, source_id, kernel_id, work).
--
-- run_id            Run.
-- source_id         Source file.
-- kernel_id         Kernel within it.
-- work              fp64, fp32, fp16, tensor bf16, tensor fp8, tensor int8, ...
-- dur_ns            Duration under the profiler; NULL when not collected.
-- flops_per_s       FLOP/s, a multiply-add counts two; operations for integer kinds.
-- peak_flops_per_s  Dense peak; NULL when nothing tells it.
-- peak_flops_source  profile (ncu's peak per cycle x SM clock), data sheet; NULL when
--                   there is no peak.
-- reference_flops_per_s  Dense peak of the data sheet, at boost clock; NULL for an
--                   unknown product.
WITH clocked AS MATERIALIZED (
    SELECT
        m.run_id,
        m.source_id,
        m.kernel_id,
        m.metric,
        g.gpu,
        g.compute_capability,
        nullif(m.metric['gpu__time_duration.sum'], 0) AS dur_ns,
        coalesce(
            m.metric['sm__cycles_elapsed.avg.per_second'],
            m.metric['smsp__cycles_elapsed.avg.per_second'],
            m.metric['gpc__cycles_elapsed.avg.per_second']
        ) AS clock_hz
    FROM profiled_metric AS m
    LEFT JOIN profiled_gpu AS g USING (run_id, source_id, kernel_id)
),
-- An instruction of half precision works on two values.
counted AS (
    SELECT
        *,
        unnest([
            {'work': 'fp64', 'stem': 'sass_thread_inst_executed_op_d', 'packed': 1,
                'derived': '_x2'},
            {'work': 'fp32', 'stem': 'sass_thread_inst_executed_op_f', 'packed': 1,
                'derived': '_x2'},
            {'work': 'fp16', 'stem': 'sass_thread_inst_executed_op_h', 'packed': 2,
                'derived': '_x4'}
        ], recursive := true)
    FROM clocked
),
per_cycle AS (
    SELECT
        *,
        coalesce(
            packed * metric['smsp__' || stem || 'add_pred_on.sum.per_cycle_elapsed'],
            metric['derived__smsp__' || stem || 'add_pred_on_x2']
        )
        + coalesce(
            packed * metric['smsp__' || stem || 'mul_pred_on.sum.per_cycle_elapsed'],
            metric['derived__smsp__' || stem || 'mul_pred_on_x2']
        )
        + coalesce(
            2 * packed
            * metric['smsp__' || stem || 'fma_pred_on.sum.per_cycle_elapsed'],
            metric['derived__smsp__' || stem || 'fma_pred_on' || derived]
        ) AS flop_per_cycle,
        packed * (
            coalesce(
                metric['sm__' || stem || 'add_pred_on.sum'],
                metric['smsp__' || stem || 'add_pred_on.sum']
            )
            + coalesce(
                metric['sm__' || stem || 'mul_pred_on.sum'],
                metric['smsp__' || stem || 'mul_pred_on.sum']
            )
            + 2 * coalesce(
                metric['sm__' || stem || 'fma_pred_on.sum'],
                metric['smsp__' || stem || 'fma_pred_on.sum']
            )
        ) AS flop,
        coalesce(
            metric['derived__sm__' || stem || 'fma_pred_on' || derived],
            2 * packed * metric['sm__' || stem || 'fma_pred_on.sum.peak_sustained']
        ) AS peak_per_cycle
    FROM counted
),
-- An HMMA.884 of Volta is 512 operations; later ones are other sizes, and counts of them
-- say nothing.
volta AS (
    SELECT
        *,
        'tensor fp16' AS work,
        512 * metric['sm__inst_executed_pipe_tensor.sum'] AS flop,
        512 * metric['sm__inst_executed_pipe_tensor.sum.peak_sustained']
            AS peak_per_cycle
    FROM clocked
    WHERE compute_capability = 7.0
        AND metric['sm__inst_executed_pipe_tensor.sum'] IS NOT NULL
),
every_kind AS (
    SELECT
        run_id, source_id, kernel_id, work, gpu, dur_ns,
        coalesce(flop_per_cycle * clock_hz, flop * 1e9 / dur_ns) AS flops_per_s,
        peak_per_cycle * clock_hz AS profile_peak
    FROM per_cycle
    UNION ALL BY NAME
    SELECT
        t.run_id, t.source_id, t.kernel_id, t.work, c.gpu, c.dur_ns,
        coalesce(
            t.flop_per_cycle * c.clock_hz, t.flops_per_s, t.flop * 1e9 / c.dur_ns
        ) AS flops_per_s,
        coalesce(t.peak_per_cycle * c.clock_hz, t.peak_flops_per_s) AS profile_peak
    FROM profiled_tensor_work AS t
    JOIN clocked AS c USING (run_id, source_id, kernel_id)
    UNION ALL BY NAME
    SELECT
        run_id, source_id, kernel_id, work, gpu, dur_ns,
        flop * 1e9 / dur_ns AS flops_per_s,
        peak_per_cycle * clock_hz AS profile_peak
    FROM volta
),
data_sheet AS (
    SELECT
        gpu,
        unnest([
            {'work': 'fp64', 'flops_per_s': fp64_flops_per_s},
            {'work': 'fp32', 'flops_per_s': fp32_flops_per_s},
            {'work': 'tensor fp64', 'flops_per_s': fp64_tensor_flops_per_s},
            {'work': 'tensor tf32', 'flops_per_s': tf32_tensor_flops_per_s},
            {'work': 'tensor fp16', 'flops_per_s': fp16_tensor_flops_per_s},
            {'work': 'tensor bf16', 'flops_per_s': bf16_tensor_flops_per_s},
            {'work': 'tensor fp8', 'flops_per_s': fp8_tensor_flops_per_s},
            {'work': 'tensor int8', 'flops_per_s': int8_tensor_ops_per_s},
            {'work': 'tensor fp4', 'flops_per_s': fp4_tensor_flops_per_s}
        ], recursive := true)
    FROM gpu
)
SELECT
    k.run_id,
    k.source_id,
    k.kernel_id,
    k.work,
    k.dur_ns::BIGINT AS dur_ns,
    k.flops_per_s,
    coalesce(nullif(k.profile_peak, 0), d.flops_per_s) AS peak_flops_per_s,
    CASE WHEN nullif(k.profile_peak, 0) IS NOT NULL THEN 'profile'
        WHEN d.flops_per_s IS NOT NULL THEN 'data sheet' END AS peak_flops_source,
    d.flops_per_s AS reference_flops_per_s
FROM every_kind AS k
LEFT JOIN data_sheet AS d ON d.gpu = k.gpu AND d.work = k.work
WHERE k.flops_per_s IS NOT NULL
