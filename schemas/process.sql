-- Traced processes with any recorded activity; one row per (source, process).
CREATE TABLE process (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Process id in the traced job's namespace.
    process INTEGER NOT NULL,
    -- Executable's name.
    name VARCHAR,
    -- Host on which it ran.
    host VARCHAR,
    -- Global rank; NULL when nothing in the file says it.
    rank INTEGER,
    -- What the rank was taken from, e.g. environment RANK.
    rank_source VARCHAR
);
