-- Ranks of benchmarks' tests and the GPUs they ran on.
CREATE TABLE collective_benchmark_device (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Number of the test in its file, from 0; see collective_benchmark_run.
    benchmark_id INTEGER NOT NULL,
    -- Rank as printed; it repeats where processes did not know of each other.
    rank INTEGER NOT NULL,
    -- Group of ranks that measure together (NCCL_TESTS_SPLIT); NULL before 2022.
    rank_group INTEGER,
    -- Host; NULL where one process only ran (NCCL 1).
    host VARCHAR,
    -- CUDA ordinal in its process.
    device_id INTEGER,
    -- PCI domain:bus:device; before 2025 the bus alone, as two hexadecimal digits.
    bus_id VARCHAR,
    -- Name of the GPU.
    name VARCHAR
);
