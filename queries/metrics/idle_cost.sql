-- What each cause of idle time costs a run, and whether the wall it belongs to is one:
-- what only a late rank has is waiting for that rank.
-- Grain: one row per (run_id, cause).
--
-- run_id       Run.
-- cause        See gap_part; short_gap below threshold kernel_gap_ns.
-- wall         Wall that it belongs to; NULL for none.
-- severity     wall where both it and its wall cost that much, else warning.
-- saved_ns     Saved per step without it; NULL when unknown.
-- saved_share  saved / step; where no steps are known, what the device with most of it
--              has of it / its span.
-- responsible  Call, range or earlier activity with most of this time.
WITH responsible AS (
    SELECT
        run_id, cause,
        arg_max(responsible, (responsible_ns, responsible)) AS responsible
    FROM kernel_gap_cause
    WHERE exclusion IS NULL
    GROUP BY run_id, cause
),
saved AS (
    SELECT
        run_id,
        replace(scenario, 'no idle time: ', '') AS cause,
        saved_ns,
        saved_share
    FROM what_if
    WHERE scenario LIKE 'no idle time: %'
    UNION ALL
    SELECT run_id, cause, NULL, max(share_of(total_ns, span_ns))
    FROM (
        SELECT run_id, source_id, process, device_id, cause, sum(total_ns) AS total_ns
        FROM kernel_gap_cause
        GROUP BY ALL
    )
    JOIN nccl_time_share USING (run_id, source_id, process, device_id)
    WHERE run_id NOT IN (SELECT run_id FROM what_if)
    GROUP BY run_id, cause
)
SELECT
    s.run_id,
    s.cause,
    c.wall,
    CASE WHEN l.is_wall AND s.saved_share >= threshold_of('wall_share') THEN 'wall'
        ELSE 'warning' END AS severity,
    s.saved_ns,
    s.saved_share,
    r.responsible
FROM saved AS s
LEFT JOIN cause_wall AS c USING (cause)
LEFT JOIN wall AS l ON l.run_id = s.run_id AND l.wall = c.wall
LEFT JOIN responsible AS r ON r.run_id = s.run_id AND r.cause = s.cause
ORDER BY s.run_id, s.cause
