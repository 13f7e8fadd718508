-- Kernels profiled by Nsight Compute; one row per (source, profiled kernel).
CREATE TABLE kernel_profile (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- The kernel within its file, from 0: joins to kernel_metric and kernel_rule.
    kernel_id BIGINT NOT NULL,
    -- The ID that ncu printed; repeats where a file holds several reports.
    ncu_id BIGINT,
    -- Process id in the profiled job's namespace; NULL in a .ncu-rep, which does not
    -- tell.
    process INTEGER,
    -- Executable's name.
    process_name VARCHAR,
    -- Kernel name as printed: demangled with template arguments, unless asked otherwise.
    name VARCHAR NOT NULL,
    -- CUDA ordinal of the device; NULL before 2023 and where not printed.
    device_id INTEGER,
    -- Compute capability, e.g. 9.0; NULL before 2023.
    compute_capability VARCHAR,
    -- CUDA context, local to the process.
    context_id BIGINT,
    -- CUDA stream, local to the process.
    stream_id BIGINT,
    -- Grid size, blocks; NULL where only the count of blocks is known.
    grid_x BIGINT,
    -- Grid size, blocks.
    grid_y BIGINT,
    -- Grid size, blocks.
    grid_z BIGINT,
    -- Blocks of the grid: product of the three, else launch__grid_size.
    grid_block_count BIGINT,
    -- Block size, threads; NULL where only the count of threads is known.
    block_x INTEGER,
    -- Block size, threads.
    block_y INTEGER,
    -- Block size, threads.
    block_z INTEGER,
    -- Threads of a block: product of the three, else launch__block_size.
    block_thread_count BIGINT,
    -- Push/pop ranges open at the launch, outermost first: domain:range/domain:range.
    nvtx VARCHAR,
    -- Start/end ranges open at the launch, in the same form.
    nvtx_start_end VARCHAR,
    -- Thread that had pushed the ranges.
    nvtx_thread_id BIGINT,
    -- When it was profiled, to the second (printed before 2023 only); host's clock, zone
    -- not said: ns since 1970 as if it were UTC.
    profiled_local_ns BIGINT,
    -- Version of ncu that profiled it, where known: only a .ncu-rep tells.
    ncu_version VARCHAR
);
