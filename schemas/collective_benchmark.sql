-- Measurements of collectives by benchmarks: one row per size and placement.
CREATE TABLE collective_benchmark (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Number of the test in its file, from 0; see collective_benchmark_run.
    benchmark_id INTEGER NOT NULL,
    -- Number of the pass over the sizes within the test, from 0: another type, operation,
    -- root or cycle is another pass.
    sweep INTEGER NOT NULL,
    -- Program as printed, e.g. all_reduce_perf_mpi; NULL when nothing says it.
    test VARCHAR,
    -- Collective: all_reduce, all_gather, ...; NULL when it cannot be told.
    op VARCHAR,
    -- Type of the elements as printed; NULL when not printed.
    dtype VARCHAR,
    -- Reduction as printed (sum, prod, none, ...); NULL when not printed.
    redop VARCHAR,
    -- Root rank; NULL where the collective has none (printed -1) or it is not printed.
    root INTEGER,
    -- Ranks of one communicator: printed, else told by the numbers; NULL if unknown.
    nranks INTEGER,
    -- Hosts of one communicator; NULL when the list of ranks is not whole.
    nnodes INTEGER,
    -- Physical GPUs of one communicator, fewer than ranks where these share one; NULL
    -- when the list of ranks is not whole.
    gpus INTEGER,
    -- Size of the message by which algbw is defined.
    size_bytes BIGINT NOT NULL,
    -- Count of elements as printed.
    element_count BIGINT,
    -- Whether send and receive buffer are the same; NULL when nothing says it.
    is_in_place BOOLEAN,
    -- Time of one operation, from the printed digits (microseconds, until 2019
    -- milliseconds).
    time_ns BIGINT,
    -- Whether time_ns is the host's (-C 1), while the bandwidths are from the GPU's time.
    is_time_host BOOLEAN NOT NULL,
    -- Size over time as printed; all_gather and reduce_scatter before June 2020 are
    -- brought to today's convention, and an ingest issue says so.
    algbw_bytes_per_s DOUBLE,
    -- Bandwidth per link as printed: algbw times the collective's factor.
    busbw_bytes_per_s DOUBLE,
    -- Wrong elements (since 2022; six digits are printed); NULL when not checked.
    wrong_count BIGINT,
    -- Largest deviation from the expected value, which 2016 to 2022 printed instead.
    max_error DOUBLE,
    -- Shortest iteration (-I 1).
    iteration_min_ns BIGINT,
    -- Longest iteration (-I 1).
    iteration_max_ns BIGINT,
    -- 99th percentile of the iterations (-I 1).
    iteration_p99_ns BIGINT,
    -- Standard deviation over mean of the iterations (-I 1).
    iteration_cv_share DOUBLE,
    -- When the row was printed (-S 1), clock of its host without a zone: ns since 1970 as
    -- if it were UTC.
    at_local_ns BIGINT,
    -- Rank that measured it, where each reports its own; else NULL.
    rank INTEGER,
    -- Whether size over time is algbw, busbw over algbw the factor of op and nranks, both
    -- within the printed digits, and the size that of its elements; NULL when neither
    -- speed could be checked.
    is_consistent BOOLEAN,
    -- Line of the source file, from 1; NULL for JSON.
    line BIGINT
);
