-- Metrics over all launches of a kernel, as ncu's --print-summary sums them up.
CREATE TABLE kernel_metric_summary (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- What the launches were summed up per; NVTX: the range they were in.
    summed_per VARCHAR NOT NULL CHECK (summed_per IN ('kernel', 'gpu', 'nvtx')),
    -- Process id in the profiled job's namespace; NULL per NVTX range.
    process INTEGER,
    -- Executable's name.
    process_name VARCHAR,
    -- Push/pop ranges of the group, outermost first; NULL unless per NVTX range.
    nvtx VARCHAR,
    -- Kernel name as printed; ncu may have cut it.
    name VARCHAR NOT NULL,
    -- CUDA ordinal of the device.
    device_id INTEGER,
    -- Compute capability, e.g. 9.0; NULL before 2023.
    compute_capability VARCHAR,
    -- Grid size, blocks; NULL where only the count of blocks is known.
    grid_x BIGINT,
    -- Grid size, blocks.
    grid_y BIGINT,
    -- Grid size, blocks.
    grid_z BIGINT,
    -- Blocks of the grid.
    grid_block_count BIGINT,
    -- Block size, threads; NULL where only the count of threads is known.
    block_x INTEGER,
    -- Block size, threads.
    block_y INTEGER,
    -- Block size, threads.
    block_z INTEGER,
    -- Threads of a block.
    block_thread_count BIGINT,
    -- Launches summed up.
    invocation_count BIGINT NOT NULL,
    -- Section as displayed; NULL on the raw page.
    section VARCHAR,
    -- Label as printed; NULL where the raw name was printed.
    label VARCHAR,
    -- Canonical raw name, see reference table ncu_metric; NULL for a label not in it.
    metric VARCHAR,
    -- Least value, in the base unit.
    min_value DOUBLE,
    -- Largest value, in the base unit.
    max_value DOUBLE,
    -- Mean over the launches, in the base unit.
    avg_value DOUBLE,
    -- Base unit; NULL for plain numbers and texts.
    unit VARCHAR,
    -- ncu printed no unit; it is the one that ncu_metric gives.
    is_unit_assumed BOOLEAN NOT NULL,
    -- Text of a metric that is none or not only a number.
    text VARCHAR
);
