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
WITH gap AS MATERIALIZED (
    SELECT * FROM idle_interval WHERE dur_ns >= threshold_of('kernel_gap_ns')
),
-- Several activities may end, or start, at the same nanosecond. Named are the one that
-- started last of those before and the one that ends first of those after; the rest of
-- the order only makes the choice independent of the order of the input.
before AS (
    SELECT
        a.gpu_key,
        a.end_ns,
        arg_max({'kind': a.kind, 'name_id': a.name_id, 'detail': a.detail},
            (a.start_ns, a.kind, a.name_id)) AS activity
    FROM activity AS a
    SEMI JOIN gap AS g ON g.gpu_key = a.gpu_key AND g.start_ns = a.end_ns
    GROUP BY a.gpu_key, a.end_ns
),
after AS (
    SELECT
        a.gpu_key,
        a.start_ns,
        arg_min(
            {
                'kind': a.kind, 'name_id': a.name_id, 'detail': a.detail,
                'device_key': a.device_key
            },
            (a.end_ns, a.kind, a.name_id, a.device_key)
        ) AS activity
    FROM activity AS a
    SEMI JOIN gap AS g ON g.gpu_key = a.gpu_key AND g.end_ns = a.start_ns
    GROUP BY a.gpu_key, a.start_ns
)
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
    b.activity.kind AS before_kind,
    coalesce(nb.name, b.activity.detail) AS before_name,
    f.activity.kind AS after_kind,
    coalesce(na.name, f.activity.detail) AS after_name,
    d.source_id
FROM gap AS g
JOIN after AS f ON f.gpu_key = g.gpu_key AND f.start_ns = g.end_ns
JOIN traced_device AS d ON d.device_key = f.activity.device_key
JOIN before AS b ON b.gpu_key = g.gpu_key AND b.end_ns = g.start_ns
LEFT JOIN classified_kernel_name AS nb ON nb.name_id = b.activity.name_id
LEFT JOIN classified_kernel_name AS na ON na.name_id = f.activity.name_id
ORDER BY d.run_id, d.host, d.rank, d.gpu_id, d.source_id, g.start_ns
