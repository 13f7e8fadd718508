-- What ncu's counters of tensor operations (sm__ops_path_tensor_*, since 2025.1) say of a
-- kernel, by the type of the operands. Counters come by instruction (hmma, hgmma,
-- utchmma), by result type, by sparsity and summed over these: of each way to add up,
-- the largest counts everything. Work of both pipes of Blackwell is in them.
-- Grain: one row per (run_id, source_id, kernel_id, work).
--
-- run_id           Run.
-- source_id        Source file.
-- kernel_id        Kernel within it.
-- work             tensor and the type, e.g. tensor bf16.
-- flop             Operations, sparse ones as ncu counts them; NULL when not collected.
-- flop_per_cycle   Per elapsed cycle of the SMs.
-- flops_per_s      Per second.
-- peak_per_cycle   Dense peak per cycle, of the instruction that has the highest.
-- peak_flops_per_s  Dense peak per second.
WITH counter AS (
    SELECT run_id, source_id, kernel_id, unnest(map_entries(metric)) AS entry
    FROM profiled_metric
),
parsed AS (
    SELECT
        run_id,
        source_id,
        kernel_id,
        entry.value AS value,
        regexp_extract(
            entry.key, '^sm__ops_path_tensor_([a-z0-9_]+)\.(sum.*)$', ['path', 'rollup']
        ) AS part,
        regexp_extract(
            entry.key, 'src_((?:[a-z]+[0-9]+_?)+?)(?:_dst|_sparsity|\.)', 1
        ) AS type
    FROM counter
    WHERE starts_with(entry.key, 'sm__ops_path_tensor_')
),
told AS (
    SELECT
        p.run_id,
        p.source_id,
        p.kernel_id,
        'tensor ' || replace(p.type, '_', '/') AS work,
        p.part.rollup AS rollup,
        p.value,
        (
            starts_with(p.part.path, 'op_'),
            contains(p.part.path, '_sparsity_'),
            contains(p.part.path, '_dst_')
        ) AS way,
        -- A peak without a word on sparsity is the sparse one on Hopper: 933888 a cycle,
        -- of which dense work reaches 466944 (H100 PCIe); elsewhere it is not known.
        CASE
            WHEN ends_with(p.part.path, '_sparsity_on') THEN NULL
            WHEN ends_with(p.part.path, '_sparsity_off') THEN p.value
            WHEN p.type IN ('fp64', 'int1') THEN p.value
            WHEN g.compute_capability = 9.0 THEN p.value / 2
        END AS dense_value
    FROM parsed AS p
    LEFT JOIN profiled_gpu AS g USING (run_id, source_id, kernel_id)
    WHERE p.type <> ''
),
added AS (
    SELECT
        run_id,
        source_id,
        kernel_id,
        work,
        way,
        sum(value) FILTER (rollup = 'sum') AS flop,
        sum(value) FILTER (rollup = 'sum.per_cycle_elapsed') AS flop_per_cycle,
        sum(value) FILTER (rollup = 'sum.per_second') AS flops_per_s,
        max(dense_value) FILTER (rollup = 'sum.peak_sustained') AS peak_per_cycle,
        max(dense_value) FILTER (rollup = 'sum.peak_sustained_elapsed.per_second')
            AS peak_flops_per_s
    FROM told
    GROUP BY run_id, source_id, kernel_id, work, way
)
SELECT
    run_id,
    source_id,
    kernel_id,
    work,
    max(flop) AS flop,
    max(flop_per_cycle) AS flop_per_cycle,
    max(flops_per_s) AS flops_per_s,
    max(peak_per_cycle) AS peak_per_cycle,
    max(peak_flops_per_s) AS peak_flops_per_s
FROM added
GROUP BY run_id, source_id, kernel_id, work
