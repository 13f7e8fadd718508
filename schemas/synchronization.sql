-- Synchronisations the host or a stream waited in.
CREATE TABLE synchronization (
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
    -- CUDA ordinal of the device inside that process.
    device_id INTEGER,
    -- CUDA context, local to the process.
    context_id BIGINT,
    -- CUDA stream; NULL when it concerns no one stream.
    stream_id BIGINT,
    -- Joins to api_call within the same source and process.
    correlation_id BIGINT,
    -- event, stream_wait_event, stream, context or unknown.
    kind VARCHAR NOT NULL
);
