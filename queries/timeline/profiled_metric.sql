-- The metrics of a profiled kernel that roofline and speed of light are made of, one
-- value each. Where ncu printed a metric in several places (sections round differently),
-- the one with its raw name counts first.
-- Grain: one row per (run_id, source_id, kernel_id).
--
-- run_id      Run.
-- source_id   Source file.
-- kernel_id   Kernel within it.
-- metric      Raw name to value, in base units; a name that is not in it has no value.
-- gpu_name    Product name of the GPU, as the profile says; NULL when it does not.
--
-- The details page names tensor operations by the chart alone: label "Tensor Operations
-- Per Cycle" in item "DRAM Achieved Value (Src:bf16 Dst:fp32 Sparsity:off)".
WITH named AS (
    SELECT
        run_id, source_id, kernel_id, value, text, section, body_item, label,
        is_unit_assumed,
        CASE
            WHEN metric IS NOT NULL THEN metric
            WHEN label = 'Tensor Operations Per Cycle' THEN
                'sm__ops_path_tensor_' || translate(
                    lower(regexp_extract(body_item, '\((.*)\)', 1)), ': ,', '___'
                ) || '.sum.per_cycle_elapsed'
            WHEN label = 'Theoretical Tensor Operations' THEN
                'sm__ops_path_tensor_' || translate(
                    lower(regexp_extract(body_item, '\((.*)\)', 1)), ': ,', '___'
                ) || '.sum.peak_sustained'
        END AS metric
    FROM kernel_metric
),
wanted AS (
    SELECT metric
    FROM (SELECT DISTINCT metric FROM named)
    WHERE regexp_matches(
            metric,
            '^(derived__)?(gpu__time_duration|dram__bytes|lts__t_bytes|lts__lts2xbar'
            || '|l1tex__t_bytes|l1tex__lsu_writeback|sm__ops_path_tensor_'
            || '|sm__inst_executed_pipe_tensor\.|(sm|smsp)__sass_thread_inst_executed_op_'
            || '|(sm|smsp|gpc|dram|lts|l1tex)__cycles_elapsed\.avg)'
        )
        OR metric IN (
            'sm__throughput.avg.pct_of_peak_sustained_elapsed',
            'gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed',
            'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed',
            'lts__throughput.avg.pct_of_peak_sustained_elapsed',
            'l1tex__throughput.avg.pct_of_peak_sustained_active',
            'sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed',
            'sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_elapsed',
            'launch__waves_per_multiprocessor',
            'launch__sm_count',
            'device__attribute_multiprocessor_count',
            'device__attribute_clock_rate',
            'device__attribute_memory_clock_rate',
            'device__attribute_global_memory_bus_width',
            'device__attribute_compute_capability_major',
            'device__attribute_compute_capability_minor',
            'device__attribute_display_name'
        )
),
chosen AS (
    SELECT
        run_id,
        source_id,
        kernel_id,
        metric,
        arg_min(
            value,
            (
                is_unit_assumed, label IS NOT NULL, coalesce(section, ''),
                coalesce(body_item, ''), coalesce(label, '')
            )
        ) FILTER (isfinite(value)) AS value,
        max(text) FILTER (metric = 'device__attribute_display_name') AS gpu_name
    FROM named
    SEMI JOIN wanted USING (metric)
    GROUP BY run_id, source_id, kernel_id, metric
)
SELECT
    run_id,
    source_id,
    kernel_id,
    map_from_entries(
        list((metric, value) ORDER BY metric) FILTER (value IS NOT NULL)
    ) AS metric,
    max(gpu_name) AS gpu_name
FROM chosen
GROUP BY run_id, source_id, kernel_id
