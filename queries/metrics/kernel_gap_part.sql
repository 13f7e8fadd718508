-- Each gap of kernel_gap split to the nanosecond by why the next activity did not start,
-- with the call, range or earlier activity responsible.
-- Grain: one row per part of a gap.
--
-- run_id        Run.
-- host          Host; NULL when the trace does not say.
-- rank          Global rank of the process whose work ends the gap; NULL when unknown.
-- device_id     CUDA ordinal inside that process.
-- process       Process whose work ends the gap.
-- gpu_id        Physical GPU.
-- gap_start_ns  Begin of the gap; see kernel_gap.
-- gap_end_ns    End of the gap.
-- start_ns      Begin of the part.
-- end_ns        End of the part.
-- dur_ns        Length of the part.
-- cause         What the time went to; the glossary of causes is in gap_part.
-- responsible   The call, range or earlier activity; for unknown, why it is.
-- peer          Of a dependency, what was waited for, as far as rows tell: the stream of
--               the work that ended last, whether its stream was told to wait for an
--               event, and the rank that came last to the collective that this work was.
--               NULL for other causes.
-- source_id     Source file.
WITH waited AS MATERIALIZED (
    SELECT
        p.gpu_key, p.gap_start_ns, g.before, g.after, d.run_id, d.source_id, d.process
    FROM (
        SELECT DISTINCT gpu_key, gap_start_ns FROM gap_part WHERE cause = 'dependency'
    ) AS p
    JOIN device_gap AS g ON g.gpu_key = p.gpu_key AND g.start_ns = p.gap_start_ns
    JOIN traced_device AS d ON d.device_key = g.after.device_key
),
-- Correlation ids rise with the calls of a process: a wait counts that was put into the
-- stream behind the work before this.
told AS (
    SELECT w.gpu_key, w.gap_start_ns
    FROM waited AS w
    ASOF JOIN (
        SELECT run_id, source_id, process, stream_id, correlation_id
        FROM synchronization
        WHERE kind = 'stream_wait_event' AND correlation_id IS NOT NULL
    ) AS s
        ON s.run_id = w.run_id
        AND s.source_id = w.source_id
        AND s.process = w.process
        AND s.stream_id = w.after.stream_id
        AND w.after.correlation_id > s.correlation_id
    ASOF LEFT JOIN activity AS a
        ON a.device_key = w.after.device_key
        AND a.stream_id = w.after.stream_id
        AND w.after.correlation_id > a.correlation_id
    WHERE a.correlation_id IS NULL OR s.correlation_id > a.correlation_id
),
-- Who came last to the collective that ended where the gap begins.
late AS (
    SELECT
        w.gpu_key, w.gap_start_ns, any_value(c.operation) AS operation,
        any_value(coalesce(
            'rank ' || l.rank, 'device ' || l.device_id || ' of process ' || l.process
        )) AS late_rank
    FROM waited AS w
    JOIN traced_device AS d USING (gpu_key)
    JOIN collective_time AS c
        ON c.device_key = d.device_key
        AND c.end_ns = w.gap_start_ns
        AND c.stream_id = w.before.stream_id
    JOIN collective_time AS o ON o.run_id = c.run_id AND o.instance = c.instance
    JOIN traced_device AS l ON l.device_key = o.device_key
    WHERE o.is_last AND o.device_key <> c.device_key
    GROUP BY w.gpu_key, w.gap_start_ns
),
named AS (
    SELECT
        w.gpu_key,
        w.gap_start_ns,
        concat_ws(
            ', ',
            'stream ' || w.before.stream_id
                || CASE WHEN w.before.stream_id = w.after.stream_id
                    THEN ' (its own)' ELSE '' END,
            CASE WHEN t.gpu_key IS NOT NULL THEN 'through an event' END,
            l.late_rank || ' last to arrive' || coalesce(' in ' || l.operation, '')
        ) AS peer
    FROM waited AS w
    LEFT JOIN told AS t USING (gpu_key, gap_start_ns)
    LEFT JOIN late AS l USING (gpu_key, gap_start_ns)
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    d.gpu_id,
    p.gap_start_ns,
    p.gap_end_ns,
    p.start_ns,
    p.end_ns,
    p.end_ns - p.start_ns AS dur_ns,
    p.cause,
    p.responsible,
    CASE WHEN p.cause = 'dependency' THEN nullif(n.peer, '') END AS peer,
    d.source_id
FROM gap_part AS p
JOIN traced_device AS d USING (device_key)
LEFT JOIN named AS n ON n.gpu_key = p.gpu_key AND n.gap_start_ns = p.gap_start_ns
ORDER BY d.run_id, d.host, d.rank, d.gpu_id, d.source_id, p.start_ns
