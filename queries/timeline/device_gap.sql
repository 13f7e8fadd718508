-- Idle intervals of at least threshold kernel_gap_ns, with the activity before and after.
-- Grain: one row per gap of a physical GPU.
--
-- gpu_key   Physical GPU; see traced_device.
-- start_ns  End of the last activity before.
-- end_ns    Start of the first activity after.
-- dur_ns    Length.
-- before    Of the activity before: kind, name_id, detail, stream_id.
-- after     Of the activity after: the same, device_key and correlation_id.
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
        arg_max(
            {
                'kind': a.kind, 'name_id': a.name_id, 'detail': a.detail,
                'stream_id': a.stream_id
            },
            (a.start_ns, a.kind, a.name_id, a.stream_id)
        ) AS activity
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
                'stream_id': a.stream_id, 'device_key': a.device_key,
                'correlation_id': a.correlation_id
            },
            (a.end_ns, a.kind, a.name_id, a.device_key, a.stream_id, a.correlation_id)
        ) AS activity
    FROM activity AS a
    SEMI JOIN gap AS g ON g.gpu_key = a.gpu_key AND g.end_ns = a.start_ns
    GROUP BY a.gpu_key, a.start_ns
)
SELECT
    g.gpu_key,
    g.start_ns,
    g.end_ns,
    g.dur_ns,
    b.activity AS before,
    f.activity AS after
FROM gap AS g
JOIN before AS b ON b.gpu_key = g.gpu_key AND b.end_ns = g.start_ns
JOIN after AS f ON f.gpu_key = g.gpu_key AND f.start_ns = g.end_ns
