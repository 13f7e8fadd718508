-- Zero of each source file's times, so that times of different files can be compared. A
-- time of day without a zone becomes UTC by run.toml ([telemetry] utc_offset); without
-- that it can be compared with other such times of the run only.
-- Grain: one row per (run_id, source_id).
--
-- run_id      Run.
-- source_id   Source file.
-- path        Path below the run's folder.
-- host        Host that the file names.
-- clock       utc; local: hosts' own time of day, zone unknown; NULL: no time of day.
-- zero_ns     Zero of the file's times on that clock, ns since 1970; NULL without one.
-- zero_source  What it rests on: file, or file and utc_offset.
WITH told AS (
    SELECT run_id, min(value_text) AS utc_offset
    FROM run_description
    WHERE key = 'telemetry.utc_offset'
    GROUP BY run_id
    HAVING count(DISTINCT value_text) = 1
),
zone AS (
    SELECT
        run_id,
        CASE WHEN utc_offset LIKE '-%' THEN -1 ELSE 1 END
            * (substr(utc_offset, 2, 2)::BIGINT * 3600
                + substr(utc_offset, 5, 2)::BIGINT * 60) * 1_000_000_000 AS offset_ns
    FROM told
),
-- nvidia-smi and dcgmi dmon print no host: people name files or folders by it.
called AS (
    SELECT DISTINCT
        f.run_id, f.source_id, p.host,
        format(' {} ', regexp_replace(lower(p.host), '[^a-z0-9]+', ' ', 'g')) AS words
    FROM source_file AS f
    JOIN host_placement AS p USING (run_id)
    WHERE f.host IS NULL
        AND contains(
            format(' {} ', regexp_replace(lower(f.path), '[^a-z0-9]+', ' ', 'g')),
            words
        )
),
-- node-1-2 is not node-1.
named AS (
    SELECT run_id, source_id, min(host) AS host
    FROM called AS c
    WHERE NOT EXISTS (
        FROM called AS l
        WHERE l.run_id = c.run_id
            AND l.source_id = c.source_id
            AND l.words <> c.words
            AND contains(l.words, c.words)
    )
    GROUP BY run_id, source_id
    HAVING count(DISTINCT host) = 1
)
SELECT
    f.run_id,
    f.source_id,
    f.path,
    coalesce(f.host, n.host) AS host,
    CASE
        WHEN f.capture_start_utc_ns IS NOT NULL THEN 'utc'
        WHEN f.capture_start_local_ns IS NULL THEN NULL
        WHEN z.offset_ns IS NOT NULL THEN 'utc'
        ELSE 'local'
    END AS clock,
    coalesce(
        f.capture_start_utc_ns,
        f.capture_start_local_ns - z.offset_ns,
        f.capture_start_local_ns
    ) AS zero_ns,
    CASE
        WHEN f.capture_start_utc_ns IS NOT NULL THEN 'file'
        WHEN f.capture_start_local_ns IS NULL THEN NULL
        WHEN z.offset_ns IS NOT NULL THEN 'file and utc_offset'
        ELSE 'file'
    END AS zero_source
FROM source_file AS f
LEFT JOIN zone AS z USING (run_id)
LEFT JOIN named AS n USING (run_id, source_id)
