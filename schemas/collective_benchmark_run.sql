-- Tests of collectives by benchmarks: what was asked for, and how each ended.
CREATE TABLE collective_benchmark_run (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Number of the test in its file, from 0.
    benchmark_id INTEGER NOT NULL,
    -- Which benchmark: nccl-tests, rccl-tests, all_reduce_bench.py.
    tool VARCHAR NOT NULL,
    -- Its version; nccl-tests prints it since 2.17.4.
    tool_version VARCHAR,
    -- Program as printed, e.g. all_reduce_perf_mpi; NULL when nothing says it.
    test VARCHAR,
    -- Collective: all_reduce, all_gather, ...; NULL when it cannot be told.
    op VARCHAR,
    -- What op rests on: printed, command (a command line above), numbers; NULL without.
    op_source VARCHAR,
    -- NCCL (or RCCL) that ran.
    nccl_version VARCHAR,
    -- NCCL (or RCCL) that the benchmark was compiled with.
    nccl_header_version VARCHAR,
    -- Ranks of one communicator; see collective_benchmark.
    nranks INTEGER,
    -- What nranks rests on: printed, numbers; NULL without nranks.
    nranks_source VARCHAR,
    -- Hosts of one communicator; NULL when the list of ranks is not whole.
    nnodes INTEGER,
    -- Physical GPUs of one communicator; NULL when the list of ranks is not whole.
    gpus INTEGER,
    -- Communicators that measured side by side: groups (NCCL_TESTS_SPLIT), or processes
    -- that did not know of each other (built without MPI).
    communicator_count INTEGER,
    -- Whether the lines of several independent processes are mixed in this test.
    is_interleaved BOOLEAN NOT NULL,
    -- Threads per process.
    thread_count INTEGER,
    -- GPUs per thread.
    gpus_per_thread INTEGER,
    -- Smallest size asked for.
    min_bytes BIGINT,
    -- Largest size asked for.
    max_bytes BIGINT,
    -- Step from size to size, where it is fixed.
    step_bytes BIGINT,
    -- Factor from size to size, where it grows.
    step_factor BIGINT,
    -- Iterations before the measured ones.
    warmup_iteration_count INTEGER,
    -- Measured iterations.
    iteration_count INTEGER,
    -- Operations aggregated in one iteration.
    aggregated_count INTEGER,
    -- Iterations whose results are checked; 0: none.
    validation_count INTEGER,
    -- Launches of a captured CUDA graph; 0: no graphs.
    graph_launch_count INTEGER,
    -- Offset by which buffers are misaligned.
    unalign_count INTEGER,
    -- Whether each collective was waited for (-z).
    is_blocking BOOLEAN NOT NULL,
    -- Whether threads initialised in parallel (-p).
    has_parallel_init BOOLEAN NOT NULL,
    -- Whether iterations were timed one by one (-I).
    has_iteration_report BOOLEAN NOT NULL,
    -- GPU memory taken by initialisation (-M 1; printed with three digits).
    memory_initialization_bytes BIGINT,
    -- GPU memory of the test's own buffers (-M 1).
    memory_user_bytes BIGINT,
    -- GPU memory taken by the collectives (-M 1).
    memory_collective_bytes BIGINT,
    -- All of it (-M 1).
    memory_total_bytes BIGINT,
    -- Values out of bounds, all rows together; NULL when not printed.
    out_of_bounds_count BIGINT,
    -- Whether the tool said OK to them; false outranks any bandwidth.
    is_out_of_bounds_ok BOOLEAN,
    -- The tool's verdict on the average (NCCL_TESTS_MIN_BW); NULL without one.
    is_average_ok BOOLEAN,
    -- The average as printed. Over all sizes and both placements: never compare it.
    printed_average VARCHAR,
    -- complete: its footer is there; incomplete: it died, or the log was cut.
    status VARCHAR NOT NULL
        CHECK (status IN ('complete', 'incomplete')),
    -- How it died, or what is missing.
    status_reason VARCHAR,
    -- Lines that told of a failure.
    failure_count INTEGER NOT NULL,
    -- Rows stored of it.
    row_count BIGINT NOT NULL,
    -- When it began, clock of its host without a zone (JSON only): ns since 1970 as if
    -- it were UTC.
    start_local_ns BIGINT,
    -- When it ended, likewise.
    end_local_ns BIGINT,
    -- Its first line in the source file, from 1; NULL for JSON.
    first_line BIGINT
);
