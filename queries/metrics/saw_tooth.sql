-- Whether each GPU's use goes up and down in a regular way, how often and how deep, and
-- what its low phases are. Use is SM active, else GPU-Util. A cycle begins where use
-- rises through the middle; the score is depth times regularity. Low phases are explained
-- by a capture of the same run: with the period of a step, by what a step's time beside
-- compute goes to; with longer periods, by a checkpoint or evaluation if the capture
-- shows one. Low phases of a few samples, as of a checkpoint now and then, lie beyond the
-- 10th percentile: where that shows no depth, the 2nd and 98th count.
-- Grain: one row per (run_id, host, gpu_id, source_id).
--
-- run_id       Run.
-- host         Host; NULL when nothing says it.
-- gpu_id       Physical GPU.
-- device_id    Index on the host.
-- metric       What was looked at.
-- sample_count  Samples.
-- cycle_count  Cycles.
-- period_ns    Median length of a cycle; NULL with fewer than three.
-- depth_share  high - low.
-- low_share    10th percentile of the use, else the 2nd.
-- high_share   90th percentile, else the 98th.
-- regularity_share  1 - spread of the lengths (90th - 10th percentile) / period, from 0.
-- score        Depth times regularity, 0 to 1; NULL when the period is not known.
-- is_saw_tooth  Whether depth is beyond saw_tooth_share, and regularity beyond
--              saw_tooth_regularity_share.
-- step_ns      Median step of the run; NULL when not known.
-- explanation  communication, input, checkpoint, evaluation or host; unknown without
--              evidence; NULL for a GPU without saw-tooth.
-- reason       What the explanation rests on, or why there is none.
-- source_id    Source file.
WITH used AS (
    SELECT telemetry_key, ts_ns, usual_ns, sm_active_share, gpu_util_share
    FROM gpu_round
    WHERE ts_ns IS NOT NULL
),
-- One metric for each GPU: SM active, unless it is missing or stuck at 0.
chosen AS (
    SELECT telemetry_key, coalesce(max(sm_active_share) > 0, false) AS is_sm
    FROM used
    GROUP BY telemetry_key
),
series AS (
    SELECT
        telemetry_key, u.ts_ns, u.usual_ns, c.is_sm,
        CASE WHEN c.is_sm THEN u.sm_active_share ELSE u.gpu_util_share END AS value
    FROM used AS u
    JOIN chosen AS c USING (telemetry_key)
    WHERE CASE WHEN c.is_sm THEN u.sm_active_share ELSE u.gpu_util_share END IS NOT NULL
),
spread AS (
    SELECT
        telemetry_key, is_sm,
        count(*) AS sample_count,
        any_value(usual_ns) AS usual_ns,
        quantile_cont(value, [0.02, 0.1, 0.9, 0.98]) AS quantiles
    FROM series
    GROUP BY telemetry_key, is_sm
),
level AS (
    SELECT
        * EXCLUDE (quantiles),
        CASE WHEN is_wide THEN quantiles[2] ELSE quantiles[1] END AS low,
        CASE WHEN is_wide THEN quantiles[3] ELSE quantiles[4] END AS high
    FROM (
        SELECT *, quantiles[3] - quantiles[2] > threshold_of('saw_tooth_share') AS is_wide
        FROM spread
    )
),
-- Between 3/8 and 5/8 of the way a sample belongs to the phase before it.
phased AS (
    SELECT
        s.telemetry_key, s.ts_ns,
        CASE
            WHEN s.value > l.low + 0.625 * (l.high - l.low) THEN 1
            WHEN s.value < l.low + 0.375 * (l.high - l.low) THEN 0
        END AS phase
    FROM series AS s
    JOIN level AS l USING (telemetry_key)
    WHERE l.high > l.low
),
risen AS (
    SELECT
        telemetry_key, ts_ns,
        phase = 1 AND lag(phase) OVER in_time = 0 AS is_rise
    FROM phased
    WHERE phase IS NOT NULL
    WINDOW in_time AS (PARTITION BY telemetry_key ORDER BY ts_ns)
),
cycle AS (
    SELECT
        telemetry_key,
        lead(ts_ns) OVER (PARTITION BY telemetry_key ORDER BY ts_ns) - ts_ns AS cycle_ns
    FROM risen
    WHERE is_rise
),
period AS (
    SELECT
        telemetry_key,
        count(cycle_ns) AS cycle_count,
        median(cycle_ns) AS period_ns,
        quantile_cont(cycle_ns, 0.9) - quantile_cont(cycle_ns, 0.1) AS spread_ns
    FROM cycle
    GROUP BY telemetry_key
),
scored AS (
    SELECT
        g.run_id, g.host, g.gpu_id, g.device_id, g.source_id,
        CASE WHEN l.is_sm THEN 'sm_active_share' ELSE 'gpu_util_share' END AS metric,
        l.sample_count,
        coalesce(p.cycle_count, 0) AS cycle_count,
        l.usual_ns,
        CASE WHEN p.cycle_count >= 3 THEN p.period_ns::BIGINT END AS period_ns,
        l.high - l.low AS depth_share,
        l.low AS low_share,
        l.high AS high_share,
        CASE
            WHEN p.cycle_count < 3 OR p.period_ns IS NULL THEN NULL
            WHEN p.spread_ns > p.period_ns THEN 0
            ELSE 1 - p.spread_ns / p.period_ns
        END AS regularity_share
    FROM level AS l
    JOIN telemetry_gpu AS g USING (telemetry_key)
    LEFT JOIN period AS p USING (telemetry_key)
),
judged AS (
    SELECT
        *,
        period_ns IS NOT NULL
            AND depth_share > threshold_of('saw_tooth_share')
            AND regularity_share > threshold_of('saw_tooth_regularity_share')
            AS is_saw_tooth
    FROM scored
)
SELECT
    j.run_id,
    j.host,
    j.gpu_id,
    j.device_id,
    j.metric,
    j.sample_count,
    j.cycle_count,
    j.period_ns,
    j.depth_share,
    j.low_share,
    j.high_share,
    j.regularity_share,
    j.depth_share * j.regularity_share AS score,
    j.is_saw_tooth,
    p.step_ns,
    CASE
        WHEN NOT j.is_saw_tooth THEN NULL
        -- A step must be longer than two samples, or the period is not the step's.
        WHEN abs(j.period_ns - p.step_ns) < 0.2 * p.step_ns
            AND j.period_ns > 2 * j.usual_ns AND p.step_part IS NOT NULL THEN p.step_part
        WHEN j.period_ns > 2 * p.step_ns AND p.rare_part IS NOT NULL THEN p.rare_part
        ELSE 'unknown'
    END AS explanation,
    CASE
        WHEN NOT j.is_saw_tooth AND j.period_ns IS NULL
            THEN 'fewer than three cycles'
        WHEN NOT j.is_saw_tooth THEN 'shallow or irregular'
        WHEN p.step_ns IS NULL THEN 'neither a capture nor a log tells of steps'
        WHEN abs(j.period_ns - p.step_ns) < 0.2 * p.step_ns
            AND j.period_ns > 2 * j.usual_ns THEN CASE
            WHEN p.step_part IS NULL THEN 'no capture tells what a step goes to'
            ELSE 'the period is a step''s; most of its time beside compute goes to '
                || p.step_part END
        WHEN j.period_ns > 2 * p.step_ns AND p.rare_part IS NOT NULL
            THEN 'the period is of several steps; the capture has ' || p.rare_part
        ELSE 'the period fits neither a step nor a checkpoint of the capture'
    END AS reason,
    j.source_id
FROM judged AS j
LEFT JOIN step_part AS p USING (run_id)
ORDER BY j.run_id, j.host, j.gpu_id, j.source_id
