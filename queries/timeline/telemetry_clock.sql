-- Zero of each sampled GPU's times on the clock of the run's steps: of its own file, else
-- by activity from the capture that it fits best; all GPUs of a file share its clock.
-- Grain: one row per telemetry_key.
--
-- telemetry_key  See telemetry_gpu.
-- clock        utc or local; see source_clock.
-- zero_ns      Zero of the source's times on that clock, ns since 1970.
-- aligned_by   time of day or activity.
-- confidence   1 for a time of day; by activity the correlation.
WITH fitted AS (
    SELECT
        g.run_id, g.source_id,
        arg_max(
            {'clock': c.clock, 'zero_ns': c.zero_ns + a.offset_ns},
            (a.confidence, -a.device_key)
        ) AS fit,
        max(a.confidence) AS confidence
    FROM activity_alignment AS a
    JOIN telemetry_gpu AS g USING (telemetry_key)
    JOIN traced_device AS d USING (device_key)
    JOIN source_clock AS c ON c.run_id = d.run_id AND c.source_id = d.source_id
    WHERE a.offset_ns IS NOT NULL AND c.clock IS NOT NULL
    GROUP BY g.run_id, g.source_id
)
SELECT
    g.telemetry_key,
    coalesce(f.fit.clock, g.clock) AS clock,
    coalesce(f.fit.zero_ns, g.zero_ns) AS zero_ns,
    CASE WHEN f.fit IS NULL THEN 'time of day' ELSE 'activity' END AS aligned_by,
    coalesce(f.confidence, 1) AS confidence
FROM telemetry_gpu AS g
LEFT JOIN fitted AS f USING (run_id, source_id)
WHERE coalesce(f.fit.clock, g.clock) IS NOT NULL
