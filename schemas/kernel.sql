-- Kernel executions.
CREATE TABLE kernel (
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
    -- Joins to kernel_name; the same name has the same id everywhere.
    name_id BIGINT NOT NULL,
    -- Grid size, blocks.
    grid_x BIGINT,
    -- Grid size, blocks.
    grid_y BIGINT,
    -- Grid size, blocks.
    grid_z BIGINT,
    -- Block size, threads.
    block_x INTEGER,
    -- Block size, threads.
    block_y INTEGER,
    -- Block size, threads.
    block_z INTEGER,
    -- Registers per thread.
    registers_per_thread INTEGER,
    -- Static shared memory per block.
    static_shared_memory_bytes BIGINT,
    -- Dynamic shared memory per block.
    dynamic_shared_memory_bytes BIGINT,
    -- CUDA graph node it ran as; NULL outside graphs.
    graph_node_id BIGINT
);
