-- Every input file met, stored or refused; one row per (run, source).
CREATE TABLE source_file (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Path below the run's folder; archive!member inside an archive.
    path VARCHAR NOT NULL,
    -- Size as found on disk, compressed or not.
    size_bytes BIGINT NOT NULL,
    -- SHA-256 of the uncompressed content; NULL when it could not be read.
    fingerprint VARCHAR,
    -- Size and times on disk when read: equal means unchanged.
    stat_signature VARCHAR,
    -- What the user said of it (--host, --interval); NULL when nothing.
    reader_hints VARCHAR,
    -- Which reader took it, e.g. nsys-sqlite; several, separated by commas, where a
    -- log holds several formats; NULL when none did.
    format VARCHAR,
    -- Version of the format (EXPORT_SCHEMA_VERSION); NULL before 2022.
    schema_version VARCHAR,
    -- Version of the tool that wrote the file.
    tool_version VARCHAR,
    -- Version of the tool that captured the data, where known.
    capture_version VARCHAR,
    -- Host on which it was captured.
    host VARCHAR,
    -- Global rank, when the whole file belongs to one rank.
    rank INTEGER,
    -- Zero of the file's times, ns since 1970 UTC; NULL if unknown.
    capture_start_utc_ns BIGINT,
    -- Zero of the file's times on its host's clock, where the zone is not said: ns since
    -- 1970 as if it were UTC; NULL if unknown.
    capture_start_local_ns BIGINT,
    -- Length of the capture.
    capture_dur_ns BIGINT,
    -- Rows stored from it, all tables together.
    row_count BIGINT NOT NULL,
    -- complete: proven whole; incomplete: proven not; unknown: the format cannot tell;
    -- refused.
    status VARCHAR NOT NULL
        CHECK (status IN ('complete', 'incomplete', 'unknown', 'refused')),
    -- What the status rests on.
    status_reason VARCHAR
);
