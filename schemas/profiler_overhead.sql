-- Time the profiler itself took from the traced threads.
CREATE TABLE profiler_overhead (
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
    -- What the profiler did.
    name VARCHAR
);
