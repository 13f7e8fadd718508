-- Allocations and releases of memory as CUDA saw them (--cuda-memory-usage=true).
CREATE TABLE memory_usage_event (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- ns since the capture began.
    start_ns BIGINT NOT NULL,
    -- Process id in the traced job's namespace.
    process INTEGER,
    -- CUDA ordinal of the device inside that process; see device. Means nothing for
    -- memory of the host.
    device_id INTEGER,
    -- CUDA context, local to the process.
    context_id BIGINT,
    -- Joins to api_call within the same source and process; NULL when not recorded.
    correlation_id BIGINT,
    -- allocate or free; NULL for another number.
    operation VARCHAR,
    -- Kind of the memory: device, pinned, managed ...
    memory VARCHAR,
    -- Bytes allocated or released.
    bytes BIGINT NOT NULL,
    -- Name as recorded, e.g. of the variable that static memory belongs to.
    name VARCHAR
);
