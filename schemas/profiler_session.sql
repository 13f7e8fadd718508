-- How ncu was run (its session page); one row per source. Its command line is not kept.
CREATE TABLE profiler_session (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Host on which the kernels were profiled.
    host VARCHAR,
    -- Version of ncu there, e.g. 2025.2.1.0.
    tool_version VARCHAR,
    -- When, on that host's clock, zone not said: ns since 1970 as if it were UTC.
    created_local_ns BIGINT,
    -- CUDA version.
    cuda_version VARCHAR,
    -- Display driver version.
    driver_version VARCHAR,
    -- GPU of device 0.
    gpu_name VARCHAR,
    -- --clock-control: base locks the clocks to their base, so that durations are longer
    -- than in the job itself; NULL when not given (then ncu takes base).
    clock_control VARCHAR,
    -- --cache-control: all flushes caches before each pass; NULL when not given (then
    -- all).
    cache_control VARCHAR,
    -- --replay-mode: kernel, application, range, app-range; NULL when not given (then
    -- kernel).
    replay_mode VARCHAR,
    -- --set; NULL when not given.
    metric_set VARCHAR
);
