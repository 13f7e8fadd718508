-- CUDA graph executions recorded as a whole: their kernels are not visible.
CREATE TABLE graph_launch (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- ns since the capture began; may be slightly negative.
    start_ns BIGINT NOT NULL,
    -- ns since the capture began.
    end_ns BIGINT NOT NULL CHECK (end_ns >= start_ns),
    -- Process id in the traced job's namespace; 0 when the export does not say.
    process INTEGER NOT NULL,
    -- CUDA ordinal of the device inside that process; see device.
    device_id INTEGER NOT NULL,
    -- CUDA context, local to the process.
    context_id BIGINT,
    -- CUDA stream, local to the process.
    stream_id BIGINT,
    -- Joins to api_call within the same source and process.
    correlation_id BIGINT,
    -- Graph.
    graph_id BIGINT,
    -- Instantiated graph.
    graph_exec_id BIGINT
);
