-- Why each GPU was idle: its idle time by cause and step. All causes of a GPU sum to its
-- idle time exactly; idle intervals below threshold kernel_gap_ns are one cause of their
-- own. Of each step they sum to its idle time less its lead_in_ns: what precedes the
-- first activity of a device is between no two, so it is no gap and has no cause.
-- Grain: one row per (run_id, host, gpu_id, rank, device_id, process, step, cause,
-- source_id).
--
-- run_id         Run.
-- host           Host; NULL when the trace does not say.
-- gpu_id         Physical GPU.
-- rank           Global rank of the process whose work ends the gaps; NULL when unknown.
-- device_id      CUDA ordinal inside that process.
-- process        Process whose work ends the gaps.
-- step           Step that the gaps delay; NULL outside of steps.
-- exclusion      Why summaries leave the step out; else NULL.
-- cause          See gap_part; short_gap below the threshold.
-- part_count     Parts of gaps; of short_gap, idle intervals.
-- total_ns       Time.
-- idle_share     Total / the GPU's whole idle time in the capture.
-- longest_ns     Longest part.
-- responsible    Call, range or earlier activity with most of this time.
-- responsible_ns  How much of it.
-- source_id      Source file.
WITH own_step AS MATERIALIZED (
    FROM device_step WHERE end_ns > begin_ns
),
short AS (
    -- Which process's work ends a short interval does not matter where a GPU has one.
    SELECT i.gpu_key, min(d.device_key) AS device_key, i.start_ns, i.end_ns
    FROM idle_interval AS i
    JOIN traced_device AS d USING (gpu_key)
    WHERE i.dur_ns < threshold_of('kernel_gap_ns')
    GROUP BY i.gpu_key, i.start_ns, i.end_ns
),
part AS (
    SELECT gpu_key, device_key, gap_end_ns, start_ns, end_ns, cause, responsible
    FROM gap_part
    UNION ALL
    SELECT gpu_key, device_key, end_ns, start_ns, end_ns, 'short_gap', NULL
    FROM short
),
placed AS MATERIALIZED (
    SELECT
        p.gpu_key, p.device_key, p.cause, p.responsible,
        p.end_ns - p.start_ns AS dur_ns,
        p.gap_end_ns <= s.end_ns AS is_in_step,
        -- Only the first step may begin inside of idle time, with its range on the host:
        -- what lies before is outside of steps.
        greatest(0, s.begin_ns - p.start_ns) AS before_ns,
        s.step,
        s.exclusion
    FROM part AS p
    ASOF LEFT JOIN own_step AS s
        ON s.device_key = p.device_key AND p.end_ns > s.begin_ns
),
stepped AS (
    SELECT
        gpu_key, device_key, cause, responsible,
        CASE WHEN is_in_step THEN dur_ns - before_ns ELSE dur_ns END AS dur_ns,
        CASE WHEN is_in_step THEN step END AS step,
        CASE WHEN is_in_step THEN exclusion END AS exclusion
    FROM placed
    UNION ALL
    SELECT gpu_key, device_key, cause, responsible, before_ns, NULL, NULL
    FROM placed
    WHERE is_in_step AND before_ns > 0
),
by_responsible AS (
    SELECT
        gpu_key, device_key, step, exclusion, cause, responsible,
        count(*) AS part_count,
        sum(dur_ns)::BIGINT AS total_ns,
        max(dur_ns) AS longest_ns
    FROM stepped
    GROUP BY ALL
),
by_cause AS (
    SELECT
        gpu_key, device_key, step, exclusion, cause,
        sum(part_count)::BIGINT AS part_count,
        sum(total_ns)::BIGINT AS total_ns,
        max(longest_ns) AS longest_ns,
        arg_max(responsible, (total_ns, responsible)) AS responsible,
        max(total_ns) FILTER (responsible IS NOT NULL) AS responsible_ns
    FROM by_responsible
    GROUP BY ALL
)
SELECT
    d.run_id,
    d.host,
    d.gpu_id,
    d.rank,
    d.device_id,
    d.process,
    c.step,
    c.exclusion,
    c.cause,
    c.part_count,
    c.total_ns,
    c.total_ns / sum(c.total_ns) OVER (PARTITION BY c.gpu_key) AS idle_share,
    c.longest_ns,
    c.responsible,
    c.responsible_ns,
    d.source_id
FROM by_cause AS c
JOIN traced_device AS d USING (device_key)
ORDER BY
    d.run_id, d.host, d.gpu_id, d.rank, d.device_id, d.process, d.source_id, c.step,
    c.total_ns DESC, c.cause
