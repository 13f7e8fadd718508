-- CUDA runtime and driver calls.
CREATE TABLE api_call (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- ns since the capture began; may be slightly negative.
    start_ns BIGINT NOT NULL,
    -- ns since the capture began.
    end_ns BIGINT NOT NULL CHECK (end_ns >= start_ns),
    -- Process id in the traced job's namespace.
    process INTEGER,
    -- Thread id.
    thread INTEGER,
    -- Joins to the work it started, within the same source and process.
    correlation_id BIGINT,
    -- Joins to api_name.
    name_id BIGINT NOT NULL,
    -- runtime or driver.
    api VARCHAR,
    -- 0 is success.
    return_code INTEGER
);
